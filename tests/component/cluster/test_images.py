"""An image's tag follows from its inputs: the same checkout, the same tag; another input, another tag."""

import shutil
from pathlib import Path

import pytest
from spade_cluster.archive import write_image_archive, write_layer
from spade_cluster.image_inputs import IMAGES, Image, content_tag

CHECKOUT = Path(__file__).resolve().parents[3]
BY_NAME = {image.name: image for image in IMAGES}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The inputs of all images in a folder of their own."""
    for path in {path for image in IMAGES for path in (image.dockerfile, *image.inputs)}:
        source, target = CHECKOUT / path, tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copyfile(source, target)
    return tmp_path


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_every_input_of_an_image_exists_and_its_dockerfile_reads_it(image: Image) -> None:
    dockerfile = (CHECKOUT / image.dockerfile).read_text()
    for path in image.inputs:
        assert (CHECKOUT / path).exists(), path
        assert path == image.dockerfile or path in dockerfile


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name)
def test_every_path_that_a_dockerfile_copies_is_an_input(image: Image) -> None:
    lines = (CHECKOUT / image.dockerfile).read_text().splitlines()
    for line in lines:
        if line.startswith("COPY "):
            assert line.split()[1] in image.inputs


def test_change_of_the_operator_leaves_the_other_tags(copy: Path) -> None:
    before = {image.name: content_tag(image, copy) for image in IMAGES}
    (copy / "operator/spade_operator/one_more.py").write_text("")
    after = {image.name: content_tag(image, copy) for image in IMAGES}
    assert {name for name in before if before[name] != after[name]} == {"operator"}


def test_caches_do_not_change_a_tag(copy: Path) -> None:
    image = BY_NAME["worker"]
    before = content_tag(image, copy)
    cache = copy / "contracts/spade_contracts/__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "x.pyc").write_bytes(b"x")
    assert content_tag(image, copy) == before


def test_sandbox_image_holds_nothing_of_ours_but_contracts_and_the_pod() -> None:
    assert [path for path in BY_NAME["sandbox"].inputs if "/spade_" in path] == [
        "contracts/spade_contracts",
        "sandbox/spade_sandbox/__init__.py",
        "sandbox/spade_sandbox/pod",
    ]


def test_image_archives_are_reproducible(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    archives = []
    for number in range(2):
        layer, archive = tmp_path / f"{number}.layer", tmp_path / f"{number}.tar"
        write_layer(layer, {"program": program})
        write_image_archive(archive, name="spade.local/x:1", layer=layer, command=("/program",), environment={})
        archives.append(archive.read_bytes())
    assert archives[0] == archives[1]
