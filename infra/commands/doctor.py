"""`turnkeep doctor`: one line a check, with the next step where something is wrong."""

import os

import typer


def doctor() -> None:
    """Check what Turnkeep depends on: servers, roles, migration, settings that lose data, models, versions.

    Reads the same TURNKEEP_… settings as the other commands, and TURNKEEP_URL for a running gateway.
    Ends with code 1 when something is wrong.
    """
    from infra.doctor.examine import examine
    from shared.settings import load
    from shared.telemetry import configure_logs

    configure_logs(service="doctor", level="ERROR")
    findings = list(examine(load(), gateway_url=os.environ.get("TURNKEEP_URL")))
    for finding in findings:
        typer.echo(f"{'ok     ' if finding.is_good else 'PROBLEM'} {finding.subject}: {finding.says}")
    if not all(finding.is_good for finding in findings):
        raise typer.Exit(1)
