"""The files of deployments/cluster: valid, pinned, without secrets, with known variables only."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from prefect.settings import Settings
from prefect.settings.legacy import _get_settings_fields

from deployments.serve import server
from tests.shared_store import variables

ROOT = Path(__file__).parent.parent.parent
CLUSTER = ROOT / "deployments" / "cluster"
COMPOSE = (CLUSTER / "compose.yaml").read_text()
GPU = (CLUSTER / "gpu.yaml").read_text()
EXAMPLE = (CLUSTER / ".env.example").read_text()
MANIFESTS = list(yaml.safe_load_all((CLUSTER / "kubernetes" / "workers.yaml").read_text()))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
FILLED = {
    "PREFECT_LOGIN": "culturemeter:a",
    "WAREHOUSE_PASSWORD": "b",
    "POSTGRES_PASSWORD": "c",
    "PREFECT_DATABASE_PASSWORD": "d",
    "S3_ACCESS_KEY": "e",
    "S3_SECRET_KEY": "f",
}
_VARIABLE = re.compile(r"\$\$|\$\{(?P<name>\w+)((?P<how>:?[-?])(?P<rest>[^}]*))?\}")
_NAME = re.compile(r"\b(?:CULTUREMETER|PREFECT|AWS|RAY|VLLM|POSTGRES)_[A-Z][A-Z0-9_]*")


def compose(values: Mapping[str, str]) -> dict[str, Any]:
    """Return compose.yaml with variables substituted the way Docker's client does."""

    def put(found: re.Match[str]) -> str:
        if not found["name"]:
            return "$"
        value = values.get(found["name"], "")
        if not value and found["how"] == ":?":
            raise KeyError(f"{found['name']}: {found['rest']}")
        return value or (found["rest"] or "" if found["how"] in (":-", "-") else "")

    def within(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: within(each) for key, each in value.items()}
        if isinstance(value, list):
            return [within(each) for each in value]
        return _VARIABLE.sub(put, value) if isinstance(value, str) else value

    whole: dict[str, Any] = within(yaml.safe_load(COMPOSE))
    return whole


def test_compose_file_is_valid_strictly() -> None:
    parser = pytest.importorskip("compose_spec").PyCompose
    whole = compose(FILLED)
    parser.from_json(json.dumps(whole)).validate()
    whole["services"]["worker"]["comand"] = []
    with pytest.raises(ValueError, match="comand"):
        parser.from_json(json.dumps(whole))


def test_services_volumes_and_files_named_in_compose_exist() -> None:
    whole = compose(FILLED)
    services, volumes = whole["services"], whole["volumes"].keys()
    assert {"postgres", "s3", "prefect", "worker", "ray-head", "ray-node", "vllm"} <= services.keys()
    for service in services.values():
        assert set(service.get("depends_on", ())) <= services.keys()
        named = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        assert {name for name in named if not name.startswith(".")} <= volumes
        assert {each["source"] for each in service.get("configs", ())} <= whole["configs"].keys()
    assert (ROOT / "deployments/cluster" / services["prefect"]["build"]["context"]).resolve() == ROOT
    assert (ROOT / services["prefect"]["build"]["dockerfile"]).is_file()


@pytest.mark.parametrize("name", ["PREFECT_LOGIN", "WAREHOUSE_PASSWORD", "S3_ACCESS_KEY", "S3_SECRET_KEY"])
def test_compose_requires_every_secret(name: str) -> None:
    with pytest.raises(KeyError, match=name):
        compose({other: value for other, value in FILLED.items() if other != name})


def test_ports_are_bound_to_this_machine_by_default() -> None:
    ports = [port for each in compose(FILLED)["services"].values() for port in each.get("ports", ())]
    assert len(ports) >= 3
    assert {port.rpartition(":")[0].rpartition(":")[0] for port in ports} == {"127.0.0.1"}


def test_every_container_has_limits_and_few_rights() -> None:
    for name, service in compose(FILLED)["services"].items():
        assert {"mem_limit", "cpus"} <= service.keys(), name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        if service.get("restart") != "no":
            assert "healthcheck" in service or name == "ray-node", name


def test_gpus_are_reserved_for_computing_services() -> None:
    added = yaml.safe_load(GPU.replace("${GPUS:-all}", "all"))["services"]
    assert added.keys() == {"worker", "ray-node"} < compose(FILLED)["services"].keys()
    for service in added.values():
        (device,) = service["deploy"]["resources"]["reservations"]["devices"]
        assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}


def test_manifests_are_valid_strictly(tmp_path: Path) -> None:
    validate = pytest.importorskip("kubernetes_validate")
    newest = validate.latest_version()
    for manifest in MANIFESTS:
        validate.validate(manifest, newest, strict=True)
    (deployment,) = (each for each in MANIFESTS if each["kind"] == "Deployment")
    wrong = deployment | {"spec": deployment["spec"] | {"replica": 2}}
    with pytest.raises(validate.ValidationError):
        validate.validate(wrong, newest, strict=True)


def test_pods_have_probes_and_limits_and_run_without_root() -> None:
    (deployment,) = (each for each in MANIFESTS if each["kind"] == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (worker,) = pod["containers"]
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= worker.keys()
    assert worker["resources"].keys() == {"requests", "limits"}
    assert pod["securityContext"]["runAsNonRoot"]
    assert worker["securityContext"]["readOnlyRootFilesystem"]
    assert {"/dev/shm", "/var/lib/culturemeter/models"} <= {m["mountPath"] for m in worker["volumeMounts"]}
    assert {m["name"] for m in worker["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
    kinds = {each["kind"]: each for each in MANIFESTS}
    labels = kinds["PodDisruptionBudget"]["spec"]["selector"], kinds["NetworkPolicy"]["spec"]["podSelector"]
    assert all(each["matchLabels"] == deployment["spec"]["selector"]["matchLabels"] for each in labels)
    claim = next(v["persistentVolumeClaim"]["claimName"] for v in pod["volumes"] if v["name"] == "models")
    assert claim == kinds["PersistentVolumeClaim"]["metadata"]["name"]
    assert worker["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "Secret" not in kinds  # the secret is made from a file that stays out of git
    assert {"secretRef": {"name": "culturemeter-worker"}} in worker["envFrom"]


def _images() -> Iterator[str]:
    for service in compose(FILLED)["services"].values():
        yield service["image"]
    for each in MANIFESTS:
        if each["kind"] == "Deployment":
            yield from (container["image"] for container in each["spec"]["template"]["spec"]["containers"])
    yield from re.findall(r"^ARG BASE=(\S+)", (CLUSTER / "Dockerfile").read_text(), re.M)


def test_every_image_has_a_pinned_tag() -> None:
    images = set(_images())
    assert len(images) == 5  # ours, Python's, and three of others
    for image in images:
        assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+[\w.-]*", image), image
    assert f"culturemeter:{VERSION}" in images


def test_every_variable_is_known_to_a_program() -> None:
    files = [
        CLUSTER / name for name in ("compose.yaml", "Dockerfile", "README.md", "kubernetes/workers.yaml")
    ]
    named = {name for file in files for name in _NAME.findall(file.read_text())}
    asked = set(re.findall(r"^(\w+)=", EXAMPLE, re.M))
    assert len(named) > 20
    assert named - asked - set(_known(named)) == set()


def _known(names: set[str]) -> Iterator[str]:
    prefects = _get_settings_fields(Settings)
    folders = ("culturemeter", "deployments", "flows", "tasks", "warehouse", "scrapers")
    ours = "\n".join(file.read_text() for folder in folders for file in (ROOT / folder).rglob("*.py"))
    others = set(variables("", "", "")) | {
        "POSTGRES_INITDB_ARGS", "POSTGRES_PASSWORD",  # variables of the Postgres image
        "RAY_AUTH_MODE", "RAY_AUTH_TOKEN",
        "VLLM_API_KEY", "VLLM_NO_USAGE_STATS",
    }  # fmt: skip
    for name in names:
        if name in prefects or f'"{name}"' in ours or name in others:
            yield name


def test_every_variable_of_env_example_is_used_and_explained() -> None:
    asked = dict(re.findall(r"^(\w+)=(.*)$", EXAMPLE, re.M))
    used = {found["name"] for found in _VARIABLE.finditer(COMPOSE + GPU) if found["name"]}
    assert asked.keys() == used | {"COMPOSE_FILE"}
    for block in EXAMPLE.strip().split("\n\n"):
        assert block.startswith("#")
    secret = {name for name in asked if re.search(r"PASSWORD|SECRET|KEY|TOKEN|LOGIN", name)}
    assert len(secret) >= 8
    assert {name for name in secret if asked[name]} == set()


def test_retention_in_compose_equals_the_servers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = compose(FILLED)["services"]["prefect"]["environment"]
    assert environment.items() >= server.KEPT.items()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = Settings().server
    assert settings.events.retention_period == timedelta(days=3)
    assert settings.services.db_vacuum.retention_period == timedelta(days=365)
    assert settings.services.db_vacuum.enabled_vacuum_types == {"events", "flow_runs"}
    assert settings.api.csrf_protection_enabled
    assert settings.api.auth_string.get_secret_value() == FILLED["PREFECT_LOGIN"]
