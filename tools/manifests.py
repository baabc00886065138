"""The Kubernetes manifests against their schemas, offline: ``python -m tools.manifests`` says what is wrong (status 1).

Kubernetes' own resources against the API's schemas, which ``kubernetes-validate`` carries, unknown fields included;
custom resources against :mod:`tools.custom_resources`.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema
import kubernetes_validate  # type: ignore[import-untyped]  # has neither types nor stubs
import yaml

from tools.custom_resources import SCHEMAS

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "deploy" / "kubernetes"

VERSIONS: Final = ("1.30", "1.37")
"""Of Kubernetes: the oldest and the newest that the manifests are for."""

Json = dict[str, Any]


def documents(folder: Path = FOLDER) -> Iterator[tuple[str, Json]]:
    """Every document of the manifests, with the name of its file."""
    for path in sorted(folder.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            yield path.name, document


def problems(document: object) -> list[str]:
    """What is wrong with a document, by the schema of its kind."""
    if not isinstance(document, dict) or not {"apiVersion", "kind"} <= document.keys():
        return ["has no apiVersion and kind"]
    name = f"{document['kind']} {document.get('metadata', {}).get('name', '')}".rstrip()
    schema = SCHEMAS.get((document["apiVersion"], document["kind"]))
    if schema is not None:
        errors = jsonschema.Draft202012Validator(schema).iter_errors(document)
        return [f"{name}: {_told(error)}" for error in errors]
    return [f"{name}: {problem}" for problem in dict.fromkeys(_native(document))]


def _native(document: Json) -> Iterator[str]:
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield _told(error)
        except kubernetes_validate.SchemaNotFoundError:
            yield f"{document['apiVersion']} {document['kind']} is in no schema of Kubernetes {version}"


def _told(error: jsonschema.ValidationError) -> str:
    place = ".".join(map(str, error.absolute_path))
    return f"{place}: {error.message}" if place else error.message


def main() -> int:
    """Check every file."""
    found = [f"{file}: {problem}" for file, document in documents() for problem in problems(document)]
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
