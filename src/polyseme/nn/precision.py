"""Matrix products in the precision that torch's autocast sets; sums, gates and cells stay in full precision.

Autocast does not apply to the in-place products of hand-written gradients, so these use this file. Without autocast,
everything below is the plain product, to the last bit.

    with torch.autocast("cuda", torch.bfloat16):
        products = Products.of(x)
        with products.by_hand():
            y = products.times(x, weight)         # computed in bfloat16, float32 again
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Products:
    """How the products of a function are computed: in ``dtype``, on ``device``."""

    dtype: torch.dtype
    device: str

    @classmethod
    def of(cls, x: Tensor) -> Products:
        """In the precision of autocast on the device of ``x``; without autocast, in that of ``x``."""
        device = x.device.type
        lower = torch.is_autocast_enabled(device) and x.dtype == torch.float32
        return cls(torch.get_autocast_dtype(device) if lower else x.dtype, device)

    def by_hand(self) -> AbstractContextManager[object]:
        """A context in which autocast leaves operations alone."""
        return torch.autocast(self.device, enabled=False)

    def lowered(self, x: Tensor) -> Tensor:
        """``x`` in the precision of the products, for a factor that is used repeatedly."""
        return x.to(self.dtype)

    def times(self, a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
        """``a @ b`` in the precision of ``a``."""
        if a.dtype == b.dtype == self.dtype:
            return torch.mm(a, b, out=out)
        y = torch.mm(a.to(self.dtype), b.to(self.dtype))
        return y.to(a.dtype) if out is None else out.copy_(y)

    def plus(self, bias: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """``bias + a @ b`` in the precision of ``a``."""
        if a.dtype == b.dtype == self.dtype:
            return torch.addmm(bias, a, b)
        return self.times(a, b).add_(bias)

    def add(self, total: Tensor, a: Tensor, b: Tensor) -> None:
        """``total += a @ b``."""
        if a.dtype == b.dtype == self.dtype:
            total.addmm_(a, b)
        else:
            total.add_(self.times(a, b))
