"""A small byte-level BPE tokenizer with Qwen3's special tokens and a ChatML template."""

from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

END_OF_TEXT, TURN_START, TURN_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
THINK_START, THINK_END = "<think>", "</think>"
CONTEXT_TOKENS = 2048
CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
SPLIT = (
    r" ?self\.\p{Ll}+(?:_\p{Ll}+)*"
    r"|[^\r\n\p{L}\p{N}]?\p{Lu}?\p{Ll}+(?:_\p{Ll}+)*"
    r"|\p{Lu}+"
    r"|\p{N}{1,2}"
    r"| ?[^\s\p{L}\p{N}]+"
    r"|\s*[\r\n]+ *"
    r"|\s+(?!\S)|\s+"
)
"""Like Qwen's split, but made for short Python programs: attributes of self stay whole, names in camel case fall into
their words, numbers into pieces of at most two digits, and the indentation of a line is one piece."""


def pieces(text: str) -> list[str]:
    """The text as the tokenizer splits it before any merge."""
    found = pre_tokenizers.Split(Regex(SPLIT), "isolated").pre_tokenize_str(text)
    return [piece for piece, _ in found]


def train_tokenizer(
    texts: Iterable[str], vocabulary: int, words: Sequence[str] = (), superwords: Sequence[str] = ()
) -> Any:
    """A tokenizer whose vocabulary, added tokens included, has at most that size.

    words: are one token each, the same after a space, a quote or a brace, so that copying one is copying a token.
    superwords: runs of text that are one token wherever they occur. Both are ordinary tokens, not special ones."""
    added = [AddedToken(text, special=False, normalized=False) for text in (THINK_START, THINK_END, *superwords)]
    added += [AddedToken(word, special=False, normalized=False, single_word=True) for word in words]
    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    model.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(added),
        special_tokens=[END_OF_TEXT, TURN_START, TURN_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        min_frequency=2,
        show_progress=False,
    )
    model.train_from_iterator(texts, trainer)
    model.add_tokens(added)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=model,
        eos_token=TURN_END,
        pad_token=END_OF_TEXT,
        additional_special_tokens=[TURN_START, TURN_END],
        model_max_length=CONTEXT_TOKENS,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer
