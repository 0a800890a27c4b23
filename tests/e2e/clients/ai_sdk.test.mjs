// The npm packages ai and @ai-sdk/openai-compatible against skald serve.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError, Output, cosineSimilarity, embed, embedMany, generateObject, generateText, jsonSchema,
  streamObject, streamText, tool,
} from 'ai';

import { KEY, PROMPT, collect, countingFetch, startServer } from './server.mjs';

let server;

before(async () => {
  server = await startServer();
});

after(() => server.stop());

function provider(more = {}) {
  return createOpenAICompatible(
    { name: 'skald', baseURL: server.baseURL, apiKey: KEY, includeUsage: true, ...more });
}

const chat = () => provider().chatModel('tales');
const completion = () => provider().completionModel('tales');

for (const [kind, model] of [['chat', chat], ['completion', completion]]) {
  const request = () => ({
    model: model(),
    prompt: PROMPT,
    maxOutputTokens: 24,
    temperature: 0,
    maxRetries: 0,
  });

  test(`${kind}: text, reason and usage`, async () => {
    const answer = await generateText(request());
    assert.ok(answer.text.length > 0);
    assert.ok(['stop', 'length'].includes(answer.finishReason));
    assert.ok(answer.usage.inputTokens > 0);
    assert.ok(answer.usage.outputTokens > 0);
    assert.equal(answer.response.modelId, 'tales');
  });

  test(`${kind}: streamed text equals the text at once, and usage comes at the end`, async () => {
    const whole = await generateText(request());
    const streamed = streamText(request());
    const pieces = await collect(streamed.textStream);
    assert.equal(pieces.join(''), whole.text);
    assert.equal(await streamed.finishReason, whole.finishReason);
    assert.equal((await streamed.usage).outputTokens, whole.usage.outputTokens);
  });

  test(`${kind}: a stream without usage is a stream too`, async () => {
    const without = provider({ includeUsage: false });
    const quiet = kind === 'chat' ? without.chatModel('tales') : without.completionModel('tales');
    const streamed = streamText({ ...request(), model: quiet });
    const pieces = await collect(streamed.textStream);
    assert.equal(pieces.join(''), (await generateText(request())).text);
  });

  test(`${kind}: a stop sequence ends the text`, async () => {
    const whole = (await generateText({ ...request(), maxOutputTokens: 60, seed: 5 })).text;
    const stop = whole.slice(2, 5);
    const answer = await generateText(
      { ...request(), maxOutputTokens: 60, seed: 5, stopSequences: [stop] });
    assert.equal(answer.text, whole.slice(0, whole.indexOf(stop)));
    assert.equal(answer.finishReason, 'stop');
  });

  test(`${kind}: the same seed gives the same text`, async () => {
    const ask = async (seed) =>
      (await generateText({ ...request(), temperature: 1, seed })).text;
    assert.equal(await ask(21), await ask(21));
  });

  test(`${kind}: concurrent streams are what they are alone`, async () => {
    const ask = async (seed) =>
      (await collect(streamText({ ...request(), temperature: 1, seed }).textStream)).join('');
    const seeds = Array.from({ length: 12 }, (_, i) => i);
    const together = await Promise.all(seeds.map(ask));
    for (const seed of seeds) assert.equal(together[seed], await ask(seed));
  });

  test(`${kind}: an abort is cancelled in the engine`, async () => {
    const controller = new AbortController();
    const streamed = streamText({
      ...request(),
      maxOutputTokens: 480,
      abortSignal: controller.signal,
      providerOptions: { skald: { ignore_eos: true } },
    });
    for await (const piece of streamed.textStream) {
      assert.equal(typeof piece, 'string');
      controller.abort();
    }
    await server.settled();
  });
}

test('a field of ours goes through the provider options', async () => {
  const answer = await generateText({
    model: chat(),
    prompt: PROMPT,
    maxOutputTokens: 20,
    providerOptions: { skald: { ignore_eos: true } },
  });
  assert.equal(answer.usage.outputTokens, 20);
});

test('a wrong key is an APICallError of 401 and is not tried again', async () => {
  const counting = countingFetch();
  const stranger = provider({ apiKey: 'sk-wrong', fetch: counting });
  const attempt = generateText({ model: stranger.chatModel('tales'), prompt: PROMPT });
  await assert.rejects(attempt, (error) => {
    assert.ok(APICallError.isInstance(error));
    assert.equal(error.statusCode, 401);
    assert.match(error.message, /API key/);
    return true;
  });
  assert.equal(counting.count, 1);
});

test('an unknown model is an APICallError of 404', async () => {
  const attempt = generateText({ model: provider().chatModel('other'), prompt: PROMPT });
  await assert.rejects(attempt, (error) => error.statusCode === 404 && !error.isRetryable);
});

test('a bad value is an APICallError of 400 that names it', async () => {
  const attempt = generateText({ model: chat(), prompt: PROMPT, temperature: 1000 });
  await assert.rejects(attempt, (error) => error.statusCode === 400 && /temperature/.test(error.message));
});

test('tools are refused, not ignored, where the template takes none', async () => {
  const inputSchema = jsonSchema({ type: 'object', properties: { city: { type: 'string' } } });
  const weather = tool({ description: 'the weather', inputSchema });
  const withTools = generateText({ model: chat(), prompt: PROMPT, tools: { weather } });
  await assert.rejects(withTools, (error) => error.statusCode === 400 && /tools/.test(error.message));
});

test('an object is one of its schema, whole or as it comes', async () => {
  const schema = jsonSchema({
    type: 'object',
    properties: {
      city: { type: 'string', maxLength: 12 },
      days: { type: 'integer', minimum: 1, maximum: 9 },
    },
    required: ['city', 'days'],
    additionalProperties: false,
  });
  const model = provider({ supportsStructuredOutputs: true }).chatModel('tales');
  const request = { model, prompt: PROMPT, maxOutputTokens: 300, temperature: 0, maxRetries: 0 };
  const { object, finishReason } = await generateObject({ ...request, schema });
  assert.equal(finishReason, 'stop');
  assert.deepEqual(Object.keys(object), ['city', 'days']);
  assert.ok(typeof object.city === 'string' && object.city.length <= 12, object.city);
  assert.ok(Number.isInteger(object.days) && object.days >= 1 && object.days <= 9, object.days);

  // The answer takes some milliseconds: a client that got no processor in them has it in one part.
  let parts = 0;
  for (let times = 0; times < 30 && parts < 2; ++times) {
    const stream = streamObject({ ...request, schema });
    const partial = await collect(stream.partialObjectStream);
    parts = partial.length;
    assert.deepEqual(partial.at(-1), object);
    assert.deepEqual(await stream.object, object);
  }
  assert.ok(parts > 1);

  const output = await generateText({ ...request, experimental_output: Output.object({ schema }) });
  assert.deepEqual(output.experimental_output, object);
});

test('values are embedded, one or many', async () => {
  const model = provider().textEmbeddingModel('tales');
  const { embedding, usage } = await embed({ model, value: 'a fox' });
  assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-6);
  assert.ok(usage.tokens > 0);
  const values = ['a bear', 'a fox', 'the sea'];
  const { embeddings } = await embedMany({ model, values });
  assert.equal(embeddings.length, 3);
  assert.deepEqual(embeddings[1], embedding);
  assert.ok(Math.abs(cosineSimilarity(embeddings[0], embeddings[1])) < 1);
});
