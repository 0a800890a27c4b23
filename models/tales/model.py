"""The Llama architecture of the tales models, small enough to train on a CPU."""
import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Config:
    """Shape of a model; the names are those of the GGUF metadata where there is one."""

    vocab: int = 1536
    dim: int = 192
    layers: int = 4
    heads: int = 6
    kv_heads: int = 2
    ffn: int = 384
    context: int = 512
    rope_base: float = 10000.0
    eps: float = 1e-5

    @property
    def head_dim(self):
        """Width of one attention head."""
        return self.dim // self.heads


CONFIGS = {
    "tales": Config(),
    "tales-draft": Config(dim=64, layers=2, heads=4, kv_heads=2, ffn=128),
}


class Normalise(torch.autograd.Function):
    """x / rms(x) * weight with a backward pass that keeps few temporaries.

    The result has the type that the matrix product after it wants: bfloat16 under autocast.
    """

    @staticmethod
    def forward(ctx, x, weight, eps):
        """Returns the normalised rows."""
        inverse = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        inverse = torch.rsqrt(inverse * inverse / x.shape[-1] + eps)
        unit = x * inverse
        ctx.save_for_backward(unit, inverse, weight)
        scaled = unit * weight
        return scaled.bfloat16() if torch.is_autocast_cpu_enabled() else scaled

    @staticmethod
    def backward(ctx, gradient):
        """Gradients of x and of the weight."""
        unit, inverse, weight = ctx.saved_tensors
        gradient = gradient.float()
        weight_gradient = (gradient * unit).flatten(0, -2).sum(0)
        gradient = gradient * weight
        mean = (gradient * unit).mean(-1, keepdim=True)
        return gradient.addcmul_(unit, mean, value=-1).mul_(inverse), weight_gradient, None


class RMSNorm(nn.Module):
    """x / rms(x) * weight."""

    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        """Normalise the last dimension."""
        return Normalise.apply(x, self.weight, self.eps)


def rope_table(config):
    """Unit complex numbers [context, head_dim / 2] that turn each adjacent pair."""
    frequency = config.rope_base ** (-torch.arange(0, config.head_dim, 2) / config.head_dim)
    angle = torch.outer(torch.arange(config.context), frequency)
    return torch.polar(torch.ones_like(angle), angle)


def rotate(x, table):
    """Apply RoPE to x [batch, time, heads, head_dim], pairs (x0, x1), (x2, x3), ..."""
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * table[: x.shape[1], None]).flatten(-2)


class Attention(nn.Module):
    """Causal grouped-query attention."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        width, kv_width = config.heads * config.head_dim, config.kv_heads * config.head_dim
        self.q = nn.Linear(config.dim, width, bias=False)
        self.k = nn.Linear(config.dim, kv_width, bias=False)
        self.v = nn.Linear(config.dim, kv_width, bias=False)
        self.output = nn.Linear(width, config.dim, bias=False)

    def copy_values(self, scale):
        """Let the output matrix undo the value matrix."""
        c = self.config
        values = self.v.weight.detach().view(c.kv_heads, c.head_dim, c.dim)
        values = values.repeat_interleave(c.heads // c.kv_heads, 0).reshape(-1, c.dim)
        nn.init.normal_(self.output.weight, 0, 0.5 * scale * c.dim ** -0.5)
        with torch.no_grad():
            self.output.weight += 0.5 * scale * values.t()

    def forward(self, x, table, mask):
        """x [batch, time, dim]; heads that share a KV head are stacked along time."""
        c, (batch, time, _) = self.config, x.shape
        group = c.heads // c.kv_heads
        q = rotate(self.q(x).view(batch, time, c.heads, c.head_dim), table / c.head_dim ** 0.5)
        k = rotate(self.k(x).view(batch, time, c.kv_heads, c.head_dim), table)
        v = self.v(x).view(batch, time, c.kv_heads, c.head_dim)
        q = q.view(batch, time, c.kv_heads, group, c.head_dim).permute(0, 2, 3, 1, 4)
        q = q.reshape(batch * c.kv_heads, group * time, c.head_dim)
        k = k.permute(0, 2, 3, 1).reshape(batch * c.kv_heads, c.head_dim, time)
        v = v.transpose(1, 2).reshape(batch * c.kv_heads, time, c.head_dim)
        scores = torch.baddbmm(mask.repeat(group, 1), q, k)
        with torch.autocast("cpu", enabled=False):  # or the probabilities would be f32
            mixed = torch.bmm(torch.softmax(scores, -1), v)
        mixed = mixed.view(batch, c.kv_heads, group, time, c.head_dim).permute(0, 3, 1, 2, 4)
        return self.output(mixed.reshape(batch, time, -1))


class Block(nn.Module):
    """Attention and a SwiGLU feed-forward, each behind a norm and around a residual."""

    def __init__(self, config):
        super().__init__()
        self.attn_norm = RMSNorm(config.dim, config.eps)
        self.attn = Attention(config)
        self.ffn_norm = RMSNorm(config.dim, config.eps)
        self.gate = nn.Linear(config.dim, config.ffn, bias=False)
        self.up = nn.Linear(config.dim, config.ffn, bias=False)
        self.down = nn.Linear(config.ffn, config.dim, bias=False)

    def forward(self, x, table, mask):
        """One layer."""
        x = x + self.attn(self.attn_norm(x), table, mask)
        h = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    """The whole model; the output matrix is the embedding."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab, config.dim)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.dim, config.eps)
        self.register_buffer("table", rope_table(config), persistent=False)
        self._initialise()

    def _initialise(self):
        """Normal weights, smaller where they write into the residual stream.

        The output of a head starts near the transpose of its value projection: what it looks at,
        it copies, which is what a story needs to repeat its names.
        """
        small = 1 / math.sqrt(2 * self.config.layers)
        nn.init.normal_(self.embedding.weight, 0, 0.05)
        for block in self.blocks:
            for linear in (block.attn.q, block.attn.k, block.attn.v, block.gate, block.up):
                nn.init.normal_(linear.weight, 0, linear.in_features ** -0.5)
            nn.init.normal_(block.down.weight, 0, small * block.down.in_features ** -0.5)
            block.attn.copy_values(small)

    def forward(self, ids):
        """Hidden states [batch, time, dim] after the last norm."""
        time = ids.shape[1]
        x = self.embedding(ids)
        mask = torch.full((time, time), -1e9).triu(1)
        for block in self.blocks:
            x = block(x, self.table, mask)
        return self.norm(x)

    def logits(self, hidden):
        """Scores of the vocabulary."""
        return F.linear(hidden, self.embedding.weight)

    def parameter_count(self):
        """Number of weights."""
        return sum(weight.numel() for weight in self.parameters())
