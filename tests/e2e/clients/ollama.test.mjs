// The npm package ollama against skald serve.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Ollama } from 'ollama';

import { KEY, MESSAGES, collect, startServer } from './server.mjs';
import { CALL, say, startScripted } from './scripted.mjs';

let server;
let client;
let scripted;
let caller;

const ADD = {
  type: 'function',
  function: {
    name: 'add',
    description: 'adds two numbers',
    parameters: {
      type: 'object',
      properties: { a: { type: 'integer' }, b: { type: 'integer' } },
      required: ['a', 'b'],
    },
  },
};

before(async () => {
  server = await startServer();
  client = new Ollama({ host: server.origin, headers: { authorization: `Bearer ${KEY}` } });
  scripted = await startScripted();
  caller = new Ollama({ host: scripted.origin });
});

after(async () => {
  await server.stop();
  await scripted.stop();
});

const OPTIONS = { temperature: 0, num_predict: 24, num_ctx: 256 };

test('a chat has text, a reason, counts and durations', async () => {
  const answer = await client.chat({ model: 'tales', messages: MESSAGES, options: OPTIONS });
  assert.ok(answer.message.content.length > 20);
  assert.equal(answer.done_reason, 'length');
  assert.equal(answer.eval_count, 24);
  assert.ok(answer.prompt_eval_count > 5);
  assert.ok(answer.total_duration >= answer.eval_duration && answer.eval_duration > 0);
  assert.ok(Math.abs(new Date(answer.created_at) - Date.now()) < 3600_000);
});

test('a suffix makes a gap that the answer fills', async () => {
  const answer = await caller.generate({ model: 'scripted', prompt: `a ${say('return 7;')}`, suffix: '\n}' });
  assert.equal(answer.response, 'return 7;');
  await assert.rejects(client.generate({ model: 'tales', prompt: 'a', suffix: 'b' }), /suffix: this model has no tokens/);
});

test('a stream tells what the whole chat tells', async () => {
  const ask = { model: 'tales:latest', messages: MESSAGES, options: OPTIONS };
  const whole = await client.chat(ask);
  const parts = await collect(await client.chat({ ...ask, stream: true }));
  assert.equal(parts.map((part) => part.message.content).join(''), whole.message.content);
  assert.ok(parts.length > 1);
  assert.equal(parts.at(-1).done, true);
  assert.equal(parts.at(-1).eval_count, 24);
});

test('a prompt is generated from, by the template and raw', async () => {
  const ask = { model: 'tales', prompt: 'Once upon a time', options: OPTIONS };
  const raw = await client.generate({ ...ask, raw: true });
  const completion = await (await server.post('/v1/completions', {
    prompt: ask.prompt, max_tokens: 24, temperature: 0, repetition_penalty: 1,
  })).json();
  const same = await client.generate(
    { ...ask, raw: true, options: { ...OPTIONS, repeat_penalty: 1 } });
  assert.equal(same.response, completion.choices[0].text);
  assert.ok(raw.response.length > 20);
  const parts = await collect(await client.generate({ ...ask, stream: true }));
  assert.ok(parts.map((part) => part.response).join('').length > 20);
});

test('an empty prompt loads the model, which is there', async () => {
  const loaded = await client.generate({ model: 'tales', prompt: '' });
  assert.deepEqual([loaded.response, loaded.done, loaded.done_reason], ['', true, 'load']);
  const parts = await collect(await client.chat({ model: 'tales', messages: [], stream: true }));
  assert.equal(parts.length, 1);
  assert.deepEqual([parts[0].message.content, parts[0].done_reason], ['', 'load']);
  await assert.rejects(client.generate({ model: 'another', prompt: '' }), /no model/);
});

test('texts have the vectors of /v1/embeddings', async () => {
  const input = ['a fox', 'a tale of a hen'];
  const { embeddings, prompt_eval_count: count } = await client.embed({ model: 'tales', input });
  const ours = await (await server.post('/v1/embeddings', { input })).json();
  assert.deepEqual(embeddings, ours.data.map((each) => each.embedding));
  assert.equal(count, ours.usage.prompt_tokens);
  const { embedding } = await client.embeddings({ model: 'tales', prompt: input[0] });
  assert.deepEqual(embedding, embeddings[0]);
  await assert.rejects(client.embed({ model: 'tales', input: '' }), /no embedding/);
});

test('an answer keeps to a schema', async () => {
  const format = {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 12 }, age: { type: 'integer', minimum: 0 } },
    required: ['name', 'age'],
    additionalProperties: false,
  };
  const answer = await client.chat({
    model: 'tales', messages: MESSAGES, format, options: { seed: 1, num_predict: 200 },
  });
  assert.deepEqual(Object.keys(JSON.parse(answer.message.content)), ['name', 'age']);
  assert.equal(answer.done_reason, 'stop');
});

test('a session calls a tool, is told what it gave, and answers', async () => {
  const messages = [{ role: 'user', content: `What is 1 + 2? ${say(`<think>hm</think>So. ${CALL}`)}` }];
  const first = await caller.chat({ model: 'scripted', messages, tools: [ADD] });
  assert.deepEqual(first.message.tool_calls[0].function.arguments, { a: 1, b: 2 });
  assert.equal(first.message.thinking, 'hm');
  messages.push(first.message, { role: 'tool', tool_name: 'add', content: '3' },
    { role: 'user', content: say('It is 3.') });
  const second = await caller.chat({ model: 'scripted', messages, tools: [ADD] });
  assert.equal(second.message.content, 'It is 3.');
  const parts = await collect(
    await caller.chat({ model: 'scripted', messages: messages.slice(0, 1), tools: [ADD], stream: true }));
  const calls = parts.flatMap((part) => part.message.tool_calls ?? []);
  assert.deepEqual(calls.map((call) => call.function.arguments), [{ a: 1, b: 2 }]);
});

test('the model is listed, shown and loaded', async () => {
  assert.deepEqual((await client.list()).models.map((model) => model.name), ['tales']);
  assert.deepEqual((await client.ps()).models.map((model) => model.name), ['tales']);
  const shown = await client.show({ model: 'tales' });
  assert.ok(shown.capabilities.includes('completion'));
  assert.ok(shown.model_info['general.parameter_count'] > 0);
  assert.ok((await client.version()).version);
});

test('what is not there is refused with the reason', async () => {
  await assert.rejects(client.pull({ model: 'x' }), /the one model that it was started with/);
  await assert.rejects(client.chat({ model: 'x', messages: MESSAGES }), /there is no model 'x'/);
  await assert.rejects(client.chat({ model: 'tales', messages: MESSAGES, format: 'xml' }), /format/);
  await assert.rejects(
    client.chat({ model: 'tales', messages: [{ role: 'user', content: 'x', images: ['AAAA'] }] }),
    /messages\[0\]\.images/);
});
