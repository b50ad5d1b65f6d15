"""The repository root is the chart, and nothing but the chart goes into its package."""

import tarfile
from pathlib import Path

import pytest
import yaml
from tests.support.helm import ROOT, helm

MAX_RELEASE_BYTES = 700 * 1024
ALLOWED = ("Chart.yaml", "values.yaml", "values.schema.json", "README.md", "LICENSE")
ALLOWED_FOLDERS = ("templates", "crds", "charts")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    done = helm("package", ".", "--destination", folder)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.tgz")
    return found


def test_the_package_holds_chart_files_only(package: Path) -> None:
    with tarfile.open(package) as archive:
        names = [name.removeprefix("spade/") for name in archive.getnames()]
    strangers = [name for name in names if name not in ALLOWED and name.split("/")[0] not in ALLOWED_FOLDERS]
    assert strangers == []
    assert {"crds/spaderuns.yaml", "templates/deployment.yaml", "values.schema.json"} <= set(names)


def test_a_release_fits_into_its_secret(package: Path) -> None:
    with tarfile.open(package) as archive:
        unpacked = sum(member.size for member in archive.getmembers())
    assert package.stat().st_size < MAX_RELEASE_BYTES
    # Helm keeps files and manifest in one Secret, compressed; even uncompressed they fit.
    assert unpacked < MAX_RELEASE_BYTES


def test_the_chart_passes_helm_lint() -> None:
    done = helm("lint", ".", "--strict")
    assert done.returncode == 0, done.stdout


def test_chart_and_distribution_have_one_version() -> None:
    import tomllib

    chart = yaml.safe_load((ROOT / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert chart["version"] == chart["appVersion"] == project["project"]["version"]


def test_every_folder_of_the_root_is_denied_or_part_of_the_chart() -> None:
    denied = {line.strip("/") for line in (ROOT / ".helmignore").read_text().splitlines()}
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    assert folders - denied - set(ALLOWED_FOLDERS) == set()
