"""`ldru models`."""

from dataclasses import dataclass

from ldru.base.json import Json, to_json
from ldru.cli.printing import print_rows


@dataclass(frozen=True, kw_only=True)
class Models:
    """List the models with their sizes at the paper's settings (2 symbols, 2 classes).

    Args:
        json: print JSON.
    """

    json: bool = False

    def __call__(self) -> None:
        from ldru.models.registry import model_spec
        from ldru.paper.settings import SIZES

        rows: list[dict[str, Json]] = []
        for name, size in SIZES.items():
            rows.append(
                {"model": name, "parameters": size.ours, "paper": size.paper, "note": size.note}
            )
            if self.json:
                rows[-1]["settings"] = to_json(model_spec(name))
        note = "`ldru train TASK --model MODEL --help` shows a model's settings."
        print_rows(rows, as_json=self.json, note=note)


def command(arguments: list[str]) -> type[Models]:
    return Models
