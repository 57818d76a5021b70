"""The console script `turnkeep`: commands are declared here and do their work elsewhere."""

import sys

import typer

from infra.commands import demo, doctor, importing, keys, serving, stack
from infra.embedded.process import EmbeddedError
from infra.said import say
from shared.domain.errors import TurnkeepError

app = typer.Typer(
    help="Long-term memory for LLM chat agents in high-volume customer service.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(epilog="Example: turnkeep demo")(demo.demo)
app.command(epilog="Example: turnkeep up --data-dir ./turnkeep-data --port 8080")(stack.up)
app.command(epilog="Example: TURNKEEP_POSTGRES__URL=… TURNKEEP_BROKER__URL=… turnkeep gateway")(
    serving.gateway
)
app.command(epilog="Example: turnkeep worker --queues embed,index")(serving.worker)
app.command(epilog="Example: turnkeep beat")(serving.beat)
app.command(epilog="Example: TURNKEEP_POSTGRES__MIGRATION_URL=… turnkeep migrate")(serving.migrate)
app.command("import", epilog="Example: turnkeep import conversations.ndjson --wait")(importing.import_file)
app.command(epilog="Example: turnkeep doctor")(doctor.doctor)
app.add_typer(keys.app)


def main() -> None:
    try:
        app()
    except (TurnkeepError, EmbeddedError) as error:
        say(str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
