// The npm package @anthropic-ai/sdk against skald serve.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import Anthropic from '@anthropic-ai/sdk';

import { KEY, MESSAGES, startServer } from './server.mjs';
import { CALL, say, startScripted } from './scripted.mjs';

let server;
let client;
let scripted;
let caller;

const ADD = {
  name: 'add',
  description: 'adds two numbers',
  input_schema: {
    type: 'object',
    properties: { a: { type: 'integer' }, b: { type: 'integer' } },
    required: ['a', 'b'],
  },
};

before(async () => {
  server = await startServer();
  client = new Anthropic({ baseURL: server.origin, apiKey: KEY, authToken: null, maxRetries: 0 });
  scripted = await startScripted();
  caller = new Anthropic({ baseURL: scripted.origin, apiKey: 'none', authToken: null, maxRetries: 0 });
});

after(async () => {
  await server.stop();
  await scripted.stop();
});

const ask = (more) =>
  client.messages.create({ model: 'tales', max_tokens: 24, messages: MESSAGES, ...more });
const call = (messages, more) => caller.messages.create(
  { model: 'scripted', max_tokens: 1000, tools: [ADD], messages, ...more });

test('a message has text, a reason and a usage', async () => {
  const message = await ask({ temperature: 0 });
  assert.equal(message.type, 'message');
  assert.equal(message.content[0].type, 'text');
  assert.ok(message.content[0].text.length > 20);
  assert.equal(message.stop_reason, 'max_tokens');
  assert.equal(message.usage.output_tokens, 24);
  const counted = await client.messages.countTokens({ model: 'tales', messages: MESSAGES });
  const { input_tokens: input, cache_read_input_tokens: cached } = message.usage;
  assert.equal(input + cached, counted.input_tokens);
});

test('a second message finds the prompt of the first in the cache', async () => {
  const messages = [{ role: 'user', content: 'Tell me of a whale that could not swim.' }];
  await ask({ messages });
  const again = await ask({ messages });
  assert.equal(again.usage.input_tokens, 1);
  assert.ok(again.usage.cache_read_input_tokens > 5);
});

test('a stream tells what the whole message tells', async () => {
  const whole = await ask({ temperature: 0 });
  const names = [];
  const stream = client.messages.stream(
    { model: 'tales', max_tokens: 24, messages: MESSAGES, temperature: 0 });
  let text = '';
  stream.on('streamEvent', (event) => names.push(event.type));
  stream.on('text', (delta) => { text += delta; });
  const final = await stream.finalMessage();
  assert.equal(final.content[0].text, whole.content[0].text);
  assert.equal(text, whole.content[0].text);
  assert.equal(final.stop_reason, 'max_tokens');
  assert.equal(final.usage.output_tokens, 24);
  assert.deepEqual(names.slice(0, 2), ['message_start', 'content_block_start']);
  assert.deepEqual(names.slice(-3), ['content_block_stop', 'message_delta', 'message_stop']);
});

test('a session calls a tool, is told what it gave, and answers', async () => {
  const messages = [{ role: 'user', content: `What is 1 + 2? ${say(`Let me add. ${CALL}`)}` }];
  const first = await call(messages);
  assert.equal(first.stop_reason, 'tool_use');
  const use = first.content.find((block) => block.type === 'tool_use');
  assert.deepEqual(use.input, { a: 1, b: 2 });
  messages.push({ role: 'assistant', content: first.content });
  messages.push({
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: use.id, content: [{ type: 'text', text: '3' }] },
      { type: 'text', text: say('It is 3.') }],
  });
  const second = await call(messages);
  assert.equal(second.stop_reason, 'end_turn');
  assert.deepEqual(second.content, [{ type: 'text', text: 'It is 3.' }]);
});

test('a stream of thinking, text and two calls is accumulated by the client', async () => {
  const script = `<think>how?</think>So: ${CALL}${CALL}`;
  const stream = caller.messages.stream({
    model: 'scripted', max_tokens: 1000, tools: [ADD],
    messages: [{ role: 'user', content: say(script) }],
  });
  const inputs = [];
  stream.on('inputJson', (delta) => inputs.push(delta));
  const message = await stream.finalMessage();
  assert.deepEqual(message.content.map((block) => block.type),
    ['thinking', 'text', 'tool_use', 'tool_use']);
  assert.equal(message.content[0].thinking, 'how?');
  assert.deepEqual(message.content[3].input, { a: 1, b: 2 });
  assert.equal(inputs.join(''), '{"a": 1, "b": 2}'.repeat(2));
  assert.equal(message.stop_reason, 'tool_use');
});

test('thinking goes back into the history, signature and all', async () => {
  const messages = [{ role: 'user', content: say('<think>hm</think>Hi') }];
  const first = await call(messages);
  messages.push({ role: 'assistant', content: first.content });
  messages.push({ role: 'user', content: say('Bye') });
  assert.equal((await call(messages)).content[0].text, 'Bye');
});

test('a call that is wanted comes, and nothing else can', async () => {
  for (const tool_choice of [{ type: 'any' }, { type: 'tool', name: 'add' }]) {
    const answer = await call([{ role: 'user', content: say(CALL) }], { tool_choice });
    assert.equal(answer.stop_reason, 'tool_use');
    assert.deepEqual(answer.content[0].input, { a: 1, b: 2 });
    await assert.rejects(
      call([{ role: 'user', content: say('I will not.') }], { tool_choice }),
      Anthropic.BadRequestError);
  }
});

test('refusals are errors of their own kinds', async () => {
  const image = {
    type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
  };
  await assert.rejects(ask({ messages: [{ role: 'user', content: [image] }] }), (error) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.equal(error.error.error.type, 'invalid_request_error');
    assert.match(error.message, /messages\[0\]\.content\[0\] is a part of type 'image'/);
    return true;
  });
  await assert.rejects(ask({ model: 'claude-x' }), Anthropic.NotFoundError);
  await assert.rejects(
    call(MESSAGES, { tool_choice: { type: 'tool', name: 'rm' } }), Anthropic.BadRequestError);
  const stranger = new Anthropic(
    { baseURL: server.origin, apiKey: 'sk-a-wrong-key', authToken: null, maxRetries: 0 });
  await assert.rejects(
    stranger.messages.create({ model: 'tales', max_tokens: 1, messages: MESSAGES }),
    Anthropic.AuthenticationError);
});
