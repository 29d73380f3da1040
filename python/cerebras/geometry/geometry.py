# SPDX-License-Identifier: Apache-2.0
"""Integer points and rectangles on the fabric, as the SDK's layout API uses them."""
from dataclasses import dataclass


@dataclass(frozen=True)
class IntVector:
    """A point or a size; x grows to the east, y to the south."""
    x: int
    y: int

    def __add__(self, other):
        return IntVector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return IntVector(self.x - other.x, self.y - other.y)


@dataclass(frozen=True)
class IntRectangle:
    """The PEs from `origin` up to, not including, the lower right corner `dims`: as the public examples use it (the documentation
    calls it a size; the two agree where the origin is (0, 0))."""
    origin: IntVector
    dims: IntVector

    def __post_init__(self):
        if self.end.x < self.origin.x or self.end.y < self.origin.y:
            raise ValueError(f"IntRectangle: lower right corner {self.end} is above or left of {self.origin}")

    @property
    def end(self):
        return self.dims

    def points(self):
        """Every point of the rectangle, row by row."""
        for y in range(self.origin.y, self.end.y):
            for x in range(self.origin.x, self.end.x):
                yield IntVector(x, y)

    @property
    def width(self):
        return self.end.x - self.origin.x

    @property
    def height(self):
        return self.end.y - self.origin.y
