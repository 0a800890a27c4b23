// What broke between real clients and real servers before: one test each. The reports that each
// came from are named; what is tested is what skald must not do.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { MESSAGES, PROMPT, startServer } from './server.mjs';

let server;

before(async () => {
  server = await startServer();
});

after(() => server.stop());

/** The JSON objects of a stream, without the end marker. */
async function events(path, body) {
  const response = await server.post(path, { stream: true, ...body });
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type'), /^text\/event-stream/);
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '');
  assert.equal(frames.at(-1), 'data: [DONE]');
  return frames.slice(0, -1).map((frame) => {
    assert.ok(frame.startsWith('data: '), frame);
    return JSON.parse(frame.slice('data: '.length));
  });
}

const CHAT = { messages: MESSAGES, max_tokens: 12, temperature: 0, ignore_eos: true };

test('usage comes only on request, last, with an empty list of choices (vercel/ai 7417)', async () => {
  const without = await events('/v1/chat/completions', CHAT);
  assert.ok(without.every((event) => event.choices.length === 1 && !event.usage));
  const asked = await events('/v1/chat/completions',
    { ...CHAT, stream_options: { include_usage: true } });
  assert.ok(asked.slice(0, -1).every((event) => event.choices.length === 1 && !event.usage));
  assert.deepEqual(asked.at(-1).choices, []);
  assert.equal(asked.at(-1).usage.completion_tokens, 12);
});

test('each delta has its index, the first its role, none a null (vercel/ai 4031, 2548)', async () => {
  const all = await events('/v1/chat/completions', { ...CHAT, n: 3, temperature: 1 });
  const started = new Set();
  for (const { choices: [choice] } of all) {
    assert.ok(Number.isInteger(choice.index));
    if (started.has(choice.index)) {
      assert.ok(!('role' in choice.delta));
    } else {
      assert.equal(choice.delta.role, 'assistant');
    }
    started.add(choice.index);
    assert.ok(Object.values(choice.delta).every((value) => value !== null));
  }
  assert.deepEqual([...started].sort(), [0, 1, 2]);
});

test('max_completion_tokens is obeyed (llama.cpp 13700)', async () => {
  const request = { messages: MESSAGES, ignore_eos: true };
  const ask = async (more) =>
    (await (await server.post('/v1/chat/completions', { ...request, ...more })).json())
      .usage.completion_tokens;
  assert.equal(await ask({ max_completion_tokens: 7 }), 7);
  assert.equal(await ask({ max_tokens: 7 }), 7);
  assert.equal(await ask({ max_tokens: 9, max_completion_tokens: 7 }), 7);
});

test('who goes before the answer is cancelled, streaming or not (llama.cpp 15232)', async () => {
  for (const stream of [true, false]) {
    const controller = new AbortController();
    // Some 5000 steps, if nobody stops them.
    const prompt = Array.from({ length: 16 }, (_, i) => `fox ${i} `.repeat(20));
    const long = { prompt, n: 16, max_tokens: 300, ignore_eos: true, stream };
    const pending = server.post('/v1/completions', long, { signal: controller.signal })
      .then((response) => response.text());
    await server.busy();
    const before = (await server.slots(() => true)).steps;
    controller.abort();
    await assert.rejects(pending);
    const after = (await server.settled()).steps;
    assert.ok(after - before < 2500, `${after - before} steps for a client that had gone`);
  }
});

test('the head of a stream comes before its first token (n8n 11886: header timeouts)', async () => {
  const long = { prompt: Array(16).fill(PROMPT), n: 2, max_tokens: 400, ignore_eos: true };
  const controllers = [new AbortController(), new AbortController()];
  const busy = server.post('/v1/completions', long, { signal: controllers[0].signal }).catch(() => {});
  await server.busy();
  // The best of some: a machine may be busy with something else for a while.
  let quickest = Infinity;
  for (let attempt = 0; attempt < 5 && quickest >= 1000; ++attempt) {
    const begin = performance.now();
    const waiting = await server.post('/v1/completions', { prompt: PROMPT, stream: true, priority: 9 },
      { signal: controllers[1].signal });
    quickest = Math.min(quickest, performance.now() - begin);
    assert.equal(waiting.status, 200);
  }
  assert.ok(quickest < 1000, `${quickest} ms`);
  for (const controller of controllers) controller.abort();
  await busy;
  await server.settled();
});

test('health answers under load (llama.cpp 20684)', async () => {
  const controller = new AbortController();
  const load = server.post('/v1/completions',
    { prompt: Array(16).fill('fox '.repeat(60)), max_tokens: 380, ignore_eos: true },
    { signal: controller.signal }).catch(() => {});
  await server.busy();
  const times = [];
  for (let i = 0; i < 40; ++i) {
    const begin = performance.now();
    for (const path of ['/health', '/livez', '/readyz'])
      assert.equal((await server.fetch(path)).status, 200);
    times.push((performance.now() - begin) / 3);
  }
  controller.abort();
  await load;
  times.sort((a, b) => a - b);
  // A server that answers between steps only, or behind the prompt, takes seconds.
  assert.ok(times[20] < 250, `median ${times[20]} ms`);
});

test('what is not enforced is refused: no 200 for a schema (llama.cpp 19051)', async () => {
  const unsupported = [
    { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] },
    { structured_outputs: { whitespace_pattern: ' ' } },
    { guided_whitespace_pattern: ' ' },
    { logprob_start_len: 1 },
  ];
  for (const more of unsupported) {
    const response = await server.post('/v1/chat/completions', { ...CHAT, ...more });
    assert.equal(response.status, 400, JSON.stringify(more));
    const { error } = await response.json();
    assert.equal(error.code, 'unsupported_parameter');
    assert.equal(error.param, Object.keys(more)[0]);
  }
  const tag = await server.post('/v1/chat/completions',
    { ...CHAT, response_format: { type: 'structural_tag' } });
  assert.equal(tag.status, 400);
  assert.equal((await tag.json()).error.param, 'response_format');
  const text = await server.post('/v1/chat/completions',
    { ...CHAT, response_format: { type: 'text' }, tools: [] });
  assert.equal(text.status, 200);
});

test('embeddings are base64 only for who asks for it (openai-node does so unasked)', async () => {
  const ask = async (more) =>
    (await (await server.post('/v1/embeddings', { model: 'tales', input: 'x', ...more })).json())
      .data[0].embedding;
  assert.ok(Array.isArray(await ask({})));
  assert.ok(Array.isArray(await ask({ encoding_format: 'float' })));
  const bytes = Buffer.from(await ask({ encoding_format: 'base64' }), 'base64');
  const floats = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  assert.deepEqual(Array.from(floats), (await ask({})).map(Math.fround));
});

test('finish_reason is one of the words of the API (FastFlowLM 500)', async () => {
  const whole = (await (await server.post('/v1/chat/completions', CHAT)).json())
    .choices[0].message.content;
  const cases = [
    [{ ...CHAT }, 'length'],
    [{ ...CHAT, stop: whole.slice(1, 4) }, 'stop'],
    [{ ...CHAT, max_tokens: 100000 }, 'length'],  // the context ends first
  ];
  for (const [request, reason] of cases) {
    const at_once = await (await server.post('/v1/chat/completions', request)).json();
    assert.equal(at_once.choices[0].finish_reason, reason);
    const streamed = await events('/v1/chat/completions', request);
    const reasons = streamed.map((event) => event.choices[0].finish_reason);
    assert.equal(reasons.pop(), reason);
    assert.ok(reasons.every((each) => each === null));
  }
});

test('no web page may read an answer or ask for one (no CORS)', async () => {
  const evil = { origin: 'https://evil.example' };
  for (const method of ['GET', 'OPTIONS']) {
    const response = await server.fetch('/v1/models', { method, headers: evil });
    assert.equal(response.status, 403);
    for (const name of response.headers.keys()) assert.ok(!name.startsWith('access-control-'), name);
  }
  const own = await server.fetch('/v1/models', { headers: { origin: server.origin } });
  assert.equal(own.status, 200);
  assert.equal(own.headers.get('access-control-allow-origin'), null);
});

test('a page of an allowed origin may ask, after its preflight', async () => {
  const open = await startServer('--allowed-origin', 'https://app.example');
  try {
    const page = { origin: 'https://app.example' };
    const asks = { ...page, 'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type' };
    // Without a key, as browsers send it.
    const preflight = await fetch(`${open.baseURL}/completions`, { method: 'OPTIONS', headers: asks });
    assert.equal(preflight.status, 200);
    assert.equal(preflight.headers.get('access-control-allow-origin'), page.origin);
    assert.equal(preflight.headers.get('access-control-allow-headers'), 'authorization, content-type');
    assert.equal(preflight.headers.get('access-control-allow-credentials'), null);
    for (const [path, status] of [['/v1/models', 200], ['/v1/nothing', 404]]) {
      const response = await open.fetch(path, { headers: page });
      assert.equal(response.status, status);
      assert.equal(response.headers.get('access-control-allow-origin'), page.origin);
    }
    const evil = await open.fetch('/v1/models', { headers: { origin: 'https://evil.example' } });
    assert.equal(evil.status, 403);
    assert.equal(evil.headers.get('access-control-allow-origin'), null);
  } finally {
    await open.stop();
  }
});

test('fields that nobody knows are ignored and named in a header', async () => {
  const response = await server.post('/v1/completions',
    { prompt: PROMPT, max_tokens: 2, frobnicate: 1, user: 'me' });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('x-skald-ignored-params'), 'frobnicate');
});
