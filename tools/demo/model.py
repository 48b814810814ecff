"""The demo's network in plain torch, with the published tensor names, written for fast CPU training.

The same function as transformers' Qwen3_5ForConditionalGeneration (checked by `check_parity.py`): equal-sized
pictures are a batch for the tower, the gated delta rule runs in chunks with one triangular solve, the head is
applied to the answers' rows only. Also the multi-token-prediction head (`mtp.*`).
"""
import math

import torch
import torch.nn.functional as F
from torch import nn


class Norm(nn.Module):  # x / rms(x) * (1 + w)
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], 1 + self.weight, 1e-6)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def take(x, rows):
    return x.gather(1, rows[..., None].expand(-1, -1, x.shape[-1]))


def smooth_positions(count, e):
    """Rows of a square table of positions: slow waves of row and column in random orthogonal directions, so that a
    linear reader finds the place. (From random rows the tower learns to be blind for it.)"""
    side = int(count ** 0.5)
    t = torch.linspace(-1, 1, side)
    y, x = (v.reshape(-1) for v in torch.meshgrid(t, t, indexing="ij"))
    waves = [1.5 * x, 1.5 * y] + [f(math.pi * k * v) for k in (1, 2) for v in (x, y) for f in (torch.cos, torch.sin)]
    directions = torch.linalg.qr(torch.randn(e, len(waves)))[0]
    return torch.stack(waves, 1) @ directions.T


class VisionBlock(nn.Module):
    def __init__(self, e, inter, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(e, eps=1e-6), nn.LayerNorm(e, eps=1e-6)
        self.attn = nn.Module()
        self.attn.qkv, self.attn.proj = nn.Linear(e, 3 * e), nn.Linear(e, e)
        self.mlp = nn.Module()
        self.mlp.linear_fc1, self.mlp.linear_fc2 = nn.Linear(e, inter), nn.Linear(inter, e)

    def look_at(self, offsets, sharpness=20.0):
        """Biases that make each head start as a soft window around a neighbour (row, column offset), like a convolution."""
        e = self.norm1.weight.numel()
        d = e // self.heads
        b = self.attn.qkv.bias.data.view(3, self.heads, d)
        w = 1.0 / (10000.0 ** (torch.arange(0, d // 2, 2).float() / (d // 2)))[:2]
        for h in range(self.heads):
            for axis, off in enumerate(offsets[h % len(offsets)]):
                i = torch.arange(2) + axis * (d // 4)
                b[0, h, i] = sharpness ** 0.5
                b[1, h, i] = sharpness ** 0.5 * torch.cos(w * off)
                b[1, h, i + d // 2] = -(sharpness ** 0.5) * torch.sin(w * off)

    def forward(self, x, cos, sin):
        n, p, e = x.shape
        q, k, v = self.attn.qkv(self.norm1(x)).view(n, p, 3, self.heads, e // self.heads).permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v)
        x = x + self.attn.proj(o.transpose(1, 2).reshape(n, p, e))
        return x + self.mlp.linear_fc2(F.gelu(self.mlp.linear_fc1(self.norm2(x)), approximate="tanh"))


class Vision(nn.Module):
    def __init__(self, c):
        super().__init__()
        e = c["hidden_size"]
        self.c, self.side = c, int(c["num_position_embeddings"] ** 0.5)
        self.patch_embed = nn.Module()
        self.patch_embed.proj = nn.Conv3d(3, e, (2, 16, 16), (2, 16, 16))
        self.pos_embed = nn.Embedding(c["num_position_embeddings"], e)
        self.blocks = nn.ModuleList(VisionBlock(e, c["intermediate_size"], c["num_heads"]) for _ in range(c["depth"]))
        self.merger = nn.Module()
        self.merger.norm = nn.LayerNorm(e, eps=1e-6)
        self.merger.linear_fc1, self.merger.linear_fc2 = nn.Linear(4 * e, 4 * e), nn.Linear(4 * e, c["out_hidden_size"])

    def geometry(self, gh, gw):
        """Position rows (index, weight) and rotary cos/sin of a grid, in merge-block order."""
        r = torch.arange(gh).view(gh // 2, 1, 2, 1).expand(gh // 2, gw // 2, 2, 2).reshape(-1)
        c = torch.arange(gw).view(1, gw // 2, 1, 2).expand(gh // 2, gw // 2, 2, 2).reshape(-1)
        d = self.c["hidden_size"] // self.c["num_heads"]
        w = 1.0 / (10000.0 ** (torch.arange(0, d // 2, 2).float() / (d // 2)))
        th = torch.cat((r[:, None] * w, c[:, None] * w), -1)
        th = torch.cat((th, th), -1)

        def axis(i, n):
            s = i.float() * ((self.side - 1) / max(n - 1, 1))
            a = s.floor().long().clamp(max=self.side - 1)
            return a, (a + 1).clamp(max=self.side - 1), s - a

        ra, rb, rd = axis(r, gh)
        ca, cb, cd = axis(c, gw)
        idx = torch.stack((ra * self.side + ca, ra * self.side + cb, rb * self.side + ca, rb * self.side + cb))
        wt = torch.stack(((1 - rd) * (1 - cd), (1 - rd) * cd, rd * (1 - cd), rd * cd))
        return idx, wt, th.cos(), th.sin()

    def forward(self, patches, gh, gw):
        """patches [N, gh*gw, 1536] (pictures may be [.., 768]: both frames are the same) -> merged rows [N, gh*gw/4, out]"""
        idx, wt, cos, sin = self.geometry(gh, gw)
        w = self.patch_embed.proj.weight
        w = w.sum(2) if patches.shape[-1] == 768 else w
        x = F.linear(patches, w.flatten(1), self.patch_embed.proj.bias)
        x = x + (self.pos_embed(idx) * wt[..., None]).sum(0)
        for b in self.blocks:
            x = b(x, cos, sin)
        x = self.merger.norm(x).view(x.shape[0], -1, 4 * x.shape[-1])
        return self.merger.linear_fc2(F.gelu(self.merger.linear_fc1(x)))


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        h, d = c["hidden_size"], c["head_dim"]
        self.nq, self.nk, self.d = c["num_attention_heads"], c["num_key_value_heads"], d
        self.q_proj = nn.Linear(h, self.nq * d * 2, bias=False)
        self.k_proj, self.v_proj = nn.Linear(h, self.nk * d, bias=False), nn.Linear(h, self.nk * d, bias=False)
        self.o_proj = nn.Linear(self.nq * d, h, bias=False)
        self.q_norm, self.k_norm = Norm(d), Norm(d)
        self.watch = self.seen = None  # rows [L, 2] (sequence, row) whose attention is wanted, and its logarithm

    def look(self, x, k, rope):
        """Logarithms of what the watched rows give to each row up to them: [L, heads, N]; k [B, heads, N, d] rotated"""
        at, row = self.watch.unbind(1)
        cos, sin = (r[at, 0, row][:, None] for r in rope)
        r = cos.shape[-1]
        q = self.q_norm(self.q_proj(x[at, row]).view(-1, self.nq, 2 * self.d)[..., :self.d])
        q = torch.cat((rotate(q[..., :r], cos, sin), q[..., r:]), -1)
        scores = (k[at] @ q[..., None]).squeeze(-1) * self.d ** -0.5
        later = torch.arange(x.shape[1]) > row[:, None]
        return scores.masked_fill(later[:, None], -1e9).log_softmax(-1)

    def forward(self, x, rope, rows=None):
        """rows [B, A]: compute these rows only (keys and values of all)"""
        b, n, _ = x.shape
        xq = x if rows is None else take(x, rows)
        q, gate = self.q_proj(xq).view(b, -1, self.nq, 2 * self.d).chunk(2, -1)
        q = self.q_norm(q).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(b, n, self.nk, self.d)).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.nk, self.d).transpose(1, 2)
        cos, sin = rope
        r = cos.shape[-1]
        cq, sq = (cos, sin) if rows is None else (take(cos[:, 0], rows)[:, None], take(sin[:, 0], rows)[:, None])
        q = torch.cat((rotate(q[..., :r], cq, sq), q[..., r:]), -1)
        k = torch.cat((rotate(k[..., :r], cos, sin), k[..., r:]), -1)
        rep = self.nq // self.nk
        k, v = k.repeat_interleave(rep, 1), v.repeat_interleave(rep, 1)
        if self.watch is not None:
            self.seen = self.look(x, k, rope)
        seen = None if rows is None else (torch.arange(n) <= rows[..., None])[:, None]
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=rows is None).transpose(1, 2)
        return self.o_proj((o * torch.sigmoid(gate)).reshape(b, xq.shape[1], -1))


def delta_rule(q, k, v, g, beta, chunk=32):
    """q, k [B,H,N,dk], v [B,H,N,dv], g and beta [B,H,N] -> [B,H,N,dv]; chunked gated delta rule."""
    b, h, n, dk = q.shape
    pad = (-n) % chunk
    if pad:
        q, k, v = (F.pad(t, (0, 0, 0, pad)) for t in (q, k, v))
        g, beta = F.pad(g, (0, pad)), F.pad(beta, (0, pad))
    m = (n + pad) // chunk
    q, k, v = (t.reshape(b, h, m, chunk, -1) for t in (q, k, v))
    g, beta = g.reshape(b, h, m, chunk).cumsum(-1), beta.reshape(b, h, m, chunk, 1)
    low = torch.ones(chunk, chunk, dtype=torch.bool).tril()
    decay = (g[..., :, None] - g[..., None, :]).masked_fill(~low, -1e9).exp()
    a = ((beta * k) @ k.transpose(-1, -2) * decay).tril(-1) + torch.eye(chunk)
    rhs = torch.cat((beta * v, beta * g.exp()[..., None] * k), -1)
    u, w = torch.linalg.solve_triangular(a, rhs, upper=False, unitriangular=True).split((v.shape[-1], dk), -1)
    inner = q @ k.transpose(-1, -2) * decay
    qg = q * g.exp()[..., None]
    kg = k * (g[..., -1:] - g).exp()[..., None]
    state, out = None, []
    for i in range(m):
        vn = u[:, :, i] if state is None else u[:, :, i] - w[:, :, i] @ state
        o = inner[:, :, i] @ vn
        out.append(o if state is None else o + qg[:, :, i] @ state)
        if i + 1 < m:
            new = kg[:, :, i].transpose(-1, -2) @ vn
            state = new if state is None else state * g[:, :, i, -1, None, None].exp() + new
    return torch.cat(out, 2)[:, :, :n]


class DeltaNet(nn.Module):
    def __init__(self, c):
        super().__init__()
        h = c["hidden_size"]
        self.nk, self.nv = c["linear_num_key_heads"], c["linear_num_value_heads"]
        self.dk, self.dv = c["linear_key_head_dim"], c["linear_value_head_dim"]
        ch = 2 * self.nk * self.dk + self.nv * self.dv
        self.in_proj_qkv = nn.Linear(h, ch, bias=False)
        self.in_proj_z = nn.Linear(h, self.nv * self.dv, bias=False)
        self.in_proj_b, self.in_proj_a = nn.Linear(h, self.nv, bias=False), nn.Linear(h, self.nv, bias=False)
        self.conv1d = nn.Conv1d(ch, ch, 4, groups=ch, bias=False)
        self.A_log, self.dt_bias = nn.Parameter(torch.zeros(self.nv)), nn.Parameter(torch.zeros(self.nv))
        self.norm = nn.Module()
        self.norm.weight = nn.Parameter(torch.ones(self.dv))
        self.out_proj = nn.Linear(self.nv * self.dv, h, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        u = self.in_proj_qkv(x)
        w = self.conv1d.weight[:, 0]
        up = F.pad(u, (0, 0, 3, 0))
        u = F.silu(sum(up[:, j:j + n] * w[:, j] for j in range(4)))
        q, k, v = u.split((self.nk * self.dk, self.nk * self.dk, self.nv * self.dv), -1)
        z = self.in_proj_z(x).view(b, n, self.nv, self.dv)
        beta = torch.sigmoid(self.in_proj_b(x)).transpose(1, 2)
        g = -(self.A_log.exp() * F.softplus(self.in_proj_a(x) + self.dt_bias)).transpose(1, 2)
        q, k = (t.view(b, n, self.nk, self.dk).transpose(1, 2) for t in (q, k))
        v = v.view(b, n, self.nv, self.dv).transpose(1, 2)
        q, k = (t * torch.rsqrt((t * t).sum(-1, keepdim=True) + 1e-6) for t in (q, k))
        rep = self.nv // self.nk
        if rep > 1:
            q, k = q.repeat_interleave(rep, 1), k.repeat_interleave(rep, 1)
        o = delta_rule(q * self.dk ** -0.5, k, v, g, beta).transpose(1, 2)
        o = F.rms_norm(o, o.shape[-1:], self.norm.weight, 1e-6) * F.silu(z)
        return self.out_proj(o.reshape(b, n, -1))


class Layer(nn.Module):
    def __init__(self, c, kind):
        super().__init__()
        h, f = c["hidden_size"], c["intermediate_size"]
        self.input_layernorm, self.post_attention_layernorm = Norm(h), Norm(h)
        self.full = kind == "full_attention"
        if self.full:
            self.self_attn = Attention(c)
        else:
            self.linear_attn = DeltaNet(c)
        self.mlp = nn.Module()
        self.mlp.gate_proj, self.mlp.up_proj = nn.Linear(h, f, bias=False), nn.Linear(h, f, bias=False)
        self.mlp.down_proj = nn.Linear(f, h, bias=False)

    def forward(self, x, rope, rows=None):
        y = self.input_layernorm(x)
        if rows is not None:
            x = take(x, rows)
        x = x + (self.self_attn(y, rope, rows) if self.full else self.linear_attn(y))
        y = self.post_attention_layernorm(x)
        return x + self.mlp.down_proj(F.silu(self.mlp.gate_proj(y)) * self.mlp.up_proj(y))


class Demo(nn.Module):
    def __init__(self, config):
        super().__init__()
        c, self.config = config["text_config"], config
        h = c["hidden_size"]
        self.model = nn.Module()
        self.model.visual = Vision(config["vision_config"])
        lm = self.model.language_model = nn.Module()
        lm.embed_tokens = nn.Embedding(c["vocab_size"], h)
        lm.layers = nn.ModuleList(Layer(c, k) for k in c["layer_types"])
        lm.norm = Norm(h)
        self.mtp = nn.Module()
        self.mtp.fc = nn.Linear(2 * h, h, bias=False)
        self.mtp.pre_fc_norm_embedding, self.mtp.pre_fc_norm_hidden = Norm(h), Norm(h)
        self.mtp.layers = nn.ModuleList([Layer(c, "full_attention")])
        self.mtp.norm = Norm(h)
        self.reset()

    def reset(self):
        """Weights by fan-in, strong and smooth positions, slow decay of the linear layers' memory."""
        for name, p in self.named_parameters():
            if name.endswith("pos_embed.weight"):
                p.data.copy_(smooth_positions(*p.shape))
            elif name.endswith("embed_tokens.weight"):
                nn.init.normal_(p, std=p.shape[1] ** -0.5)
            elif name.endswith("conv1d.weight"):
                nn.init.normal_(p, std=0.3)
                p.data[:, 0, 3] += 0.7
            elif p.dim() > 1:
                nn.init.normal_(p, std=p[0].numel() ** -0.5)
            elif name.endswith(".bias"):
                nn.init.zeros_(p)
        rings = [[(0, 1), (0, -1), (1, 0), (-1, 0)], [(1, 1), (1, -1), (-1, 1), (-1, -1)], [(0, 2), (0, -2), (2, 0), (-2, 0)]]
        for block, offsets in zip(self.model.visual.blocks[:-1], rings):
            block.look_at(offsets)
        for layer in self.model.language_model.layers:
            if not layer.full:
                m = layer.linear_attn
                nn.init.uniform_(m.A_log.data, 1.0, 8.0).log_()
                dt = torch.exp(torch.empty(m.nv).uniform_(math.log(2e-3), math.log(0.1)))
                m.dt_bias.data.copy_(dt + torch.log(-torch.expm1(-dt)))

    def rope(self, pos):
        """pos [3, B, N] -> cos, sin [B, 1, N, R], interleaved axes"""
        c = self.config["text_config"]
        rp = c["rope_parameters"]
        r = int(c["head_dim"] * rp["partial_rotary_factor"])
        w = 1.0 / (rp["rope_theta"] ** (torch.arange(0, r, 2).float() / r))
        axis = torch.zeros(r // 2, dtype=torch.long)
        for i in (1, 2):
            axis[i:3 * rp["mrope_section"][i]:3] = i
        th = pos.float()[axis].permute(1, 2, 0) * w
        th = torch.cat((th, th), -1)[:, None]
        return th.cos(), th.sin()

    def embed(self, ids, visual_mask, rows):
        x = self.model.language_model.embed_tokens(ids)
        return x.masked_scatter(visual_mask[..., None], rows.reshape(-1, rows.shape[-1]).to(x.dtype))

    def hidden(self, x, rope, rows=None):
        """Final rows, all or (cheaper) the chosen ones: the last layer is a full-attention layer."""
        lm = self.model.language_model
        for layer in lm.layers[:-1]:
            x = layer(x, rope)
        return lm.norm(lm.layers[-1](x, rope, rows))

    def predict_next_but_one(self, hidden, next_embedding, rope):
        m = self.mtp
        x = m.fc(torch.cat((m.pre_fc_norm_embedding(next_embedding), m.pre_fc_norm_hidden(hidden)), -1))
        return m.norm(m.layers[0](x, rope))

    def head(self, x):
        return F.linear(x, self.model.language_model.embed_tokens.weight)
