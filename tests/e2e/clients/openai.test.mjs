// The npm package openai against skald serve.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import OpenAI from 'openai';

import { KEY, MESSAGES, PROMPT, collect, countingFetch, startServer } from './server.mjs';

let server;
let client;

before(async () => {
  server = await startServer();
  client = new OpenAI({ baseURL: server.baseURL, apiKey: KEY, maxRetries: 0 });
});

after(() => server.stop());

const complete = (more) => client.completions.create({ model: 'tales', prompt: PROMPT, ...more });
const chat = (more) => client.chat.completions.create({ model: 'tales', messages: MESSAGES, ...more });

/** The text of one choice of a stream of completions. */
const streamedText = (chunks, index = 0) =>
  chunks.flatMap((chunk) => chunk.choices.filter((choice) => choice.index === index))
    .map((choice) => choice.text).join('');

const streamedContent = (chunks, index = 0) =>
  chunks.flatMap((chunk) => chunk.choices.filter((choice) => choice.index === index))
    .map((choice) => choice.delta.content ?? '').join('');

test('models are listed and retrieved', async () => {
  const models = await collect(client.models.list());
  assert.deepEqual(models.map((model) => model.id), ['tales']);
  const model = await client.models.retrieve('tales');
  assert.equal(model.object, 'model');
  assert.equal(model.root, 'tales');
  assert.ok(Math.abs(model.created - Date.now() / 1000) < 3600);
});

test('a completion has text, a reason and a usage that adds up', async () => {
  const answer = await complete({ max_tokens: 24, temperature: 0 });
  assert.equal(answer.object, 'text_completion');
  assert.equal(answer.choices.length, 1);
  assert.ok(answer.choices[0].text.length > 20);
  assert.equal(answer.choices[0].finish_reason, 'length');
  assert.equal(answer.choices[0].logprobs, null);
  const { prompt_tokens: prompt, completion_tokens: output, total_tokens: total } = answer.usage;
  assert.equal(output, 24);
  assert.equal(total, prompt + output);
  assert.ok(answer._request_id);
});

test('a text is scored as evaluations ask for it: echo, log probabilities, no token', async () => {
  const whole = await complete({ max_tokens: 8, temperature: 0, logprobs: 1, ignore_eos: true });
  const scored = await complete({ max_tokens: 0, echo: true, logprobs: 1 });
  assert.equal(scored.choices[0].text, PROMPT);
  assert.equal(scored.usage.completion_tokens, 0);
  const { tokens, token_logprobs: logprobs, text_offset: offsets } = scored.choices[0].logprobs;
  assert.equal(logprobs.length, scored.usage.prompt_tokens);
  assert.equal(logprobs[0], null);
  assert.ok(logprobs.slice(1).every((logprob) => logprob <= 0));
  assert.ok(offsets.every((offset, i) => i === 0 || offset >= offsets[i - 1]) && tokens.length === offsets.length);
  const one = await complete({ max_tokens: 1, temperature: 0, echo: true, logprobs: 1 });
  assert.equal(one.choices[0].logprobs.token_logprobs.at(-1), whole.choices[0].logprobs.token_logprobs[0]);
});

test('a second completion finds the prompt of the first in the cache', async () => {
  const prompt = 'The cat and the dog went to the sea to look at the big ships there.';
  const ask = () => client.completions.create({ model: 'tales', prompt, max_tokens: 4 });
  const first = await ask();
  const second = await ask();
  assert.equal(second.usage.prompt_tokens_details.cached_tokens, first.usage.prompt_tokens - 1);
});

test('streamed text equals the text at once', async () => {
  const whole = await complete({ max_tokens: 48, temperature: 0 });
  const chunks = await collect(await complete({ max_tokens: 48, temperature: 0, stream: true }));
  assert.equal(streamedText(chunks), whole.choices[0].text);
  assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
  assert.equal(new Set(chunks.map((chunk) => chunk.created)).size, 1);
  assert.equal(chunks.at(-1).choices[0].finish_reason, 'length');
});

test('text comes while it is made, not all at the end', async () => {
  // What is made while this program or the server has no processor comes in one chunk, hence the
  // attempts. A server that kept the text back would fail them all.
  for (let attempt = 0; attempt < 8; ++attempt) {
    const stream = await complete({ max_tokens: 400, ignore_eos: true, stream: true });
    if ((await collect(stream)).length > 10) return;
  }
  assert.fail('400 tokens came in a few chunks, each time');
});

test('a chat has a message of the assistant, streamed or not', async () => {
  const request = { max_completion_tokens: 32, temperature: 0, ignore_eos: true };
  const whole = await chat(request);
  assert.equal(whole.object, 'chat.completion');
  assert.equal(whole.choices[0].message.role, 'assistant');
  assert.equal(whole.usage.completion_tokens, 32);
  const chunks = await collect(await chat({ ...request, stream: true }));
  assert.ok(chunks.every((chunk) => chunk.object === 'chat.completion.chunk'));
  assert.equal(streamedContent(chunks), whole.choices[0].message.content);
});

test('the helper that assembles a streamed chat does so', async () => {
  const request = { model: 'tales', messages: MESSAGES, max_completion_tokens: 16, seed: 3 };
  const whole = await client.chat.completions.create(request);
  const stream = client.chat.completions.stream(request);
  const assembled = await stream.finalChatCompletion();
  assert.equal(assembled.choices[0].message.content, whole.choices[0].message.content);
  assert.equal(assembled.choices[0].finish_reason, whole.choices[0].finish_reason);
});

test('log probabilities of a chat belong to its text, streamed or not', async () => {
  const request =
    { max_completion_tokens: 12, temperature: 0, ignore_eos: true, logprobs: true, top_logprobs: 3 };
  const whole = await chat(request);
  const tokens = whole.choices[0].logprobs.content;
  assert.equal(tokens.length, 12);
  const bytes = Buffer.from(tokens.flatMap((token) => token.bytes));
  assert.equal(bytes.toString(), whole.choices[0].message.content);
  for (const token of tokens) {
    assert.ok(token.logprob <= 0);
    assert.equal(token.top_logprobs.length, 3);
    // Greedy: what was taken is the most likely.
    assert.equal(token.top_logprobs[0].logprob, token.logprob);
    assert.ok(token.top_logprobs[1].logprob <= token.top_logprobs[0].logprob);
  }
  const chunks = await collect(await chat({ ...request, stream: true }));
  const streamed = chunks.flatMap((chunk) => chunk.choices[0].logprobs?.content ?? []);
  assert.deepEqual(streamed, tokens);
});

test('log probabilities of a completion are four lists of one length', async () => {
  const answer = await complete({ max_tokens: 8, temperature: 0, logprobs: 2 });
  const { tokens, token_logprobs: values, top_logprobs: top, text_offset: offsets } =
    answer.choices[0].logprobs;
  assert.deepEqual([tokens.length, values.length, top.length, offsets.length], [8, 8, 8, 8]);
  assert.equal(tokens.join(''), answer.choices[0].text);
  tokens.forEach((token, i) => {
    assert.ok(Object.keys(top[i]).length <= 3);
    assert.equal(top[i][token], values[i]);
    assert.equal(answer.choices[0].text.slice(offsets[i], offsets[i] + token.length), token);
  });
});

test('n choices differ, and are the same when streamed', async () => {
  const request = { max_tokens: 16, n: 4, seed: 11, ignore_eos: true };
  const whole = await complete(request);
  assert.deepEqual(whole.choices.map((choice) => choice.index), [0, 1, 2, 3]);
  assert.ok(new Set(whole.choices.map((choice) => choice.text)).size > 1);
  assert.equal(whole.usage.completion_tokens, 64);
  const chunks = await collect(await complete({ ...request, stream: true }));
  for (const choice of whole.choices)
    assert.equal(streamedText(chunks, choice.index), choice.text);
});

test('several prompts have as many choices', async () => {
  const prompts = ['The fox', 'The bear', 'The crow'];
  const all = await complete({ prompt: prompts, max_tokens: 12, temperature: 0 });
  for (const [index, prompt] of prompts.entries()) {
    const one = await complete({ prompt, max_tokens: 12, temperature: 0 });
    assert.equal(all.choices[index].text, one.choices[0].text);
  }
});

test('equal prompts of one request give different texts, the same ones again', async () => {
  const request = { prompt: Array(4).fill(PROMPT), max_tokens: 24, ignore_eos: true, seed: 3 };
  const texts = (answer) => answer.choices.map((choice) => choice.text);
  const first = texts(await complete(request));
  assert.equal(new Set(first).size, 4);
  assert.deepEqual(texts(await complete(request)), first);
});

test('an answer says its seed and fingerprint, every chunk too', async () => {
  const drawn = await complete({ max_tokens: 24, ignore_eos: true, seed: -1 });
  assert.match(drawn.system_fingerprint, /^fp_[0-9a-f]{16}_n\d+_f16$/);
  const request = { max_tokens: 24, ignore_eos: true, seed: drawn.seed };
  const chunks = await collect(await complete({ ...request, stream: true }));
  assert.equal(streamedText(chunks), drawn.choices[0].text);
  for (const chunk of chunks) {
    assert.equal(chunk.seed, drawn.seed);
    assert.equal(chunk.system_fingerprint, drawn.system_fingerprint);
  }
  assert.equal((await chat({ max_tokens: 2 })).system_fingerprint, drawn.system_fingerprint);
});

test('what would change the answer and is not there is refused by name', async () => {
  for (const [name, value] of Object.entries(
    { mirostat: 1, n_predict: 5, thinking: { type: 'enabled' }, format: 'json', n_probs: 2 })) {
    await assert.rejects(chat({ [name]: value }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.param, name);
      assert.equal(error.code, 'unsupported_parameter');
      return true;
    });
  }
  await chat({ max_tokens: 2, chat_template_kwargs: { thinking_budget: 4 }, mirostat: 0 });
});

test('token ids are a prompt too', async () => {
  const tokenized = await server.post('/tokenize', { content: PROMPT, add_special: true });
  const { tokens } = await tokenized.json();
  const asText = await complete({ max_tokens: 12, temperature: 0 });
  const asTokens = await complete({ prompt: tokens, max_tokens: 12, temperature: 0 });
  assert.equal(asTokens.choices[0].text, asText.choices[0].text);
});

test('a stop string ends the text before itself, streamed or not', async () => {
  const whole = (await complete({ max_tokens: 64, temperature: 0 })).choices[0].text;
  const stop = whole.slice(20, 26);
  const cut = whole.slice(0, whole.indexOf(stop));
  const stopped = await complete({ max_tokens: 64, temperature: 0, stop });
  assert.equal(stopped.choices[0].text, cut);
  assert.equal(stopped.choices[0].finish_reason, 'stop');
  assert.ok(stopped.usage.completion_tokens < 64);
  const stops = ['never in this text', stop];
  const chunks = await collect(
    await complete({ max_tokens: 64, temperature: 0, stop: stops, stream: true }));
  assert.equal(streamedText(chunks), cut);
  assert.equal(chunks.at(-1).choices[0].finish_reason, 'stop');
});

test('the same seed gives the same text, another seed another', async () => {
  const ask = async (seed) => (await complete({ max_tokens: 32, seed })).choices[0].text;
  assert.equal(await ask(1), await ask(1));
  assert.notEqual(await ask(1), await ask(2));
  const unseeded = async () => (await complete({ max_tokens: 32 })).choices[0].text;
  assert.notEqual(await unseeded(), await unseeded());
});

test('a logit bias forbids and forces tokens', async () => {
  const { tokens: [token] } = await (await server.post('/tokenize', { content: 'x' })).json();
  const forced = await complete({ max_tokens: 3, logit_bias: { [token]: 100 }, logprobs: 0 });
  assert.equal(new Set(forced.choices[0].logprobs.tokens).size, 1);
});

test('concurrent streams are what they are alone', async () => {
  const ask = async (seed) => {
    const prompt = `The ${['fox', 'bear', 'crow', 'frog'][seed % 4]} number ${seed}`;
    return streamedText(
      await collect(await complete({ prompt, max_tokens: 24, seed, stream: true })));
  };
  const seeds = Array.from({ length: 24 }, (_, i) => i);
  const together = await Promise.all(seeds.map(ask));
  for (const seed of seeds) assert.equal(together[seed], await ask(seed));
});

test('an aborted stream is cancelled in the engine', async () => {
  const stream = await complete(
    { prompt: Array(16).fill(PROMPT), max_tokens: 480, ignore_eos: true, stream: true });
  let chunks = 0;
  for await (const chunk of stream) {
    assert.ok(chunk.choices.length > 0);
    if (++chunks === 3) stream.controller.abort();
  }
  assert.ok(chunks < 480);
  await server.settled();
});

test('leaving the loop over a stream cancels it too', async () => {
  const stream = await complete({ max_tokens: 480, ignore_eos: true, stream: true });
  for await (const chunk of stream) {
    assert.ok(chunk.id);
    break;
  }
  await server.settled();
});

test('a wrong key is an AuthenticationError, and is not tried again', async () => {
  const counting = countingFetch();
  const stranger = new OpenAI({ baseURL: server.baseURL, apiKey: 'sk-wrong', fetch: counting });
  await assert.rejects(stranger.models.list(), (error) => {
    assert.ok(error instanceof OpenAI.AuthenticationError);
    assert.equal(error.code, 'invalid_api_key');
    return true;
  });
  assert.equal(counting.count, 1);
});

test('what is wrong with a request stands in a BadRequestError', async () => {
  const counting = countingFetch();
  const retrying = new OpenAI({ baseURL: server.baseURL, apiKey: KEY, fetch: counting });
  const request = { model: 'tales', prompt: PROMPT, temperature: -1 };
  await assert.rejects(retrying.completions.create(request), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, 'temperature');
    assert.equal(error.type, 'invalid_request_error');
    assert.match(error.message, /temperature is -1/);
    return true;
  });
  assert.equal(counting.count, 1);
});

test('a prompt beyond the context says so', async () => {
  await assert.rejects(complete({ prompt: 'word '.repeat(2000) }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.code, 'context_length_exceeded');
    return true;
  });
});

test('an unknown model is a NotFoundError', async () => {
  for (const attempt of [() => complete({ model: 'gpt-4o' }), () => client.models.retrieve('gpt-4o')]) {
    await assert.rejects(attempt, (error) => {
      assert.ok(error instanceof OpenAI.NotFoundError);
      assert.equal(error.code, 'model_not_found');
      return true;
    });
  }
});

test('a key that has its share in flight is 429; the client tries again and is served', async () => {
  const small = await startServer('--max-running', '4', '--max-queued', '1');
  try {
    const options = { baseURL: small.baseURL, apiKey: KEY };
    const hasty = new OpenAI({ ...options, maxRetries: 0 });
    const request = { model: 'tales', prompt: PROMPT, max_tokens: 240, ignore_eos: true, n: 4 };
    // More than one that runs and one that waits, and each of them long.
    const flood = (count) => Promise.allSettled(
      Array.from({ length: count }, () => hasty.completions.create(request)));
    const outcomes = await flood(4);
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.ok(refused.length > 0);
    for (const { reason } of refused) {
      // Of two keys neither may take all places, so the server is not full (503) for this one.
      assert.ok(reason instanceof OpenAI.RateLimitError);
      assert.equal(reason.code, 'rate_limit_exceeded');
      assert.equal(reason.headers.get('retry-after'), '1');
    }
    // Where the flood was over before the patient one came, there was nothing to be patient about.
    const counting = countingFetch();
    // So many times because a flood of sixteen texts takes ten seconds on a machine full of other work.
    const patient = new OpenAI({ ...options, maxRetries: 30, fetch: counting });
    let asked = 0;
    for (; asked < 8 && counting.count === asked; ++asked) {
      const first = flood(4);
      const answer = await patient.completions.create({ ...request, n: 1, max_tokens: 4 });
      assert.equal(answer.usage.completion_tokens, 4);
      await first;
    }
    assert.ok(counting.count > asked);
  } finally {
    await small.stop();
  }
});

const lengthOf = (vector) => Math.hypot(...vector);
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const embed = (input, more) => client.embeddings.create({ model: 'tales', input, ...more });

test('an embedding has length 1 and the width of the model', async () => {
  const answer = await embed('a fox');  // the client asks for base64 and decodes it
  assert.equal(answer.object, 'list');
  assert.equal(answer.model, 'tales');
  assert.equal(answer.pooling, 'last');
  const [{ object, index, embedding }] = answer.data;
  assert.equal(object, 'embedding');
  assert.equal(index, 0);
  const { n_embd: width, pooling } = await (await server.fetch('/props')).json();
  assert.equal(embedding.length, width);
  assert.equal(pooling, 'last');
  assert.ok(Math.abs(lengthOf(embedding) - 1) < 1e-6);
  assert.ok(answer.usage.prompt_tokens > 0);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens);
});

test('numbers and base64 are the same floats', async () => {
  const numbers = await embed('a fox', { encoding_format: 'float' });
  const decoded = await embed('a fox');
  assert.deepEqual(numbers.data[0].embedding.map(Math.fround), Array.from(decoded.data[0].embedding));
  const raw = await embed('a fox', { encoding_format: 'base64' });
  assert.equal(typeof raw.data[0].embedding, 'string');
});

test('texts, token ids and lists of both are embedded in their order, as each alone', async () => {
  const texts = Array.from({ length: 80 }, (_, i) => `The ${['fox', 'bear', 'sea'][i % 3]} number ${i}`);
  const all = await embed(texts);
  assert.deepEqual(all.data.map(({ index }) => index), texts.map((_, i) => i));
  for (const i of [0, 1, 33, 79])
    assert.deepEqual(all.data[i].embedding, (await embed(texts[i])).data[0].embedding);
  const { tokens } = await (await server.post('/tokenize', { content: texts[7], add_special: true })).json();
  assert.deepEqual((await embed(tokens)).data[0].embedding, all.data[7].embedding);
  const both = await embed([tokens, tokens]);
  assert.deepEqual(both.data.map(({ embedding }) => embedding), [all.data[7].embedding, all.data[7].embedding]);
});

test('an embedding is the same beside streams, and with another cache', async () => {
  const alone = (await embed('The bear went home')).data[0].embedding;
  const streams = Array.from({ length: 6 }, (_, seed) =>
    complete({ max_tokens: 100, seed, ignore_eos: true, stream: true }).then(collect));
  const salted = [1, 2, 3].map((salt) => embed('The bear went home', { cache_salt: `${salt}` }));
  for (const answer of await Promise.all(salted)) assert.deepEqual(answer.data[0].embedding, alone);
  await Promise.all(streams);
});

test('a second embedding of a text finds it in the cache, but for the last token', async () => {
  const text = 'The old man and the young horse were friends for many years.';
  const { usage } = await embed(text);
  const again = await embed(text);
  assert.equal(again.usage.prompt_tokens_details.cached_tokens, usage.prompt_tokens - 1);
});

test('dimensions of another number are refused', async () => {
  const { n_embd: width } = await (await server.fetch('/props')).json();
  assert.equal((await embed('a fox', { dimensions: width })).data[0].embedding.length, width);
  await assert.rejects(embed('a fox', { dimensions: width / 2 }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, 'dimensions');
    return true;
  });
});

test('the mean of all tokens is another vector, and none at all is refused', async () => {
  const embedWith = async (pooling) => {
    const other = await startServer('--pooling', pooling);
    try {
      const its = new OpenAI({ baseURL: other.baseURL, apiKey: KEY, maxRetries: 0 });
      const inputs = ['The fox ran', 'The fox ran'];
      return await its.embeddings.create({ model: 'tales', input: inputs });
    } finally {
      await other.stop();
    }
  };
  const mean = await embedWith('mean');
  const last = (await embed('The fox ran')).data[0].embedding;
  assert.equal(mean.pooling, 'mean');
  assert.equal(mean.usage.prompt_tokens_details.cached_tokens, 0);  // the cache has no hidden states
  assert.deepEqual(mean.data[0].embedding, mean.data[1].embedding);
  assert.ok(Math.abs(lengthOf(mean.data[0].embedding) - 1) < 1e-6);
  assert.ok(dot(mean.data[0].embedding, last) < 0.999);
  await assert.rejects(embedWith('none'), (error) => error instanceof OpenAI.BadRequestError);
});
