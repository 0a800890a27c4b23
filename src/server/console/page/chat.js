// The chat: asks as any client does, and shows each token of the answer with its probability.
import { dataOf, setText, table, visible } from '/console/figures.js';

const $ = (id) => document.getElementById(id);

const MOST_MESSAGES = 40; // of a conversation, so that the page stays small

let hello = null;
let headers = () => ({});
let messages = []; // as the API has them
let tokens = [];   // of the last answer: { text, logprob, top: [{ text, logprob }] }
let chosen = -1;
let running = null;

const percent = (logprob) => {
  const p = 100 * Math.exp(logprob);
  return p >= 10 ? `${p.toFixed(0)} %` : `${p.toPrecision(2)} %`;
};

// --- the strip ----------------------------------------------------------------------------------

const classOf = (logprob) => `p${[0.7, 0.3, 0.1, 0.02].filter((bound) => Math.exp(logprob) < bound).length}`;

function addToken(token) {
  tokens.push(token);
  const span = document.createElement('span');
  span.textContent = token.text;
  span.className = classOf(token.logprob);
  span.dataset.index = tokens.length - 1;
  $('strip').append(span);
}

function choose(index) {
  if (index < 0 || index >= tokens.length) return;
  $('strip').children[chosen]?.classList.remove('chosen');
  chosen = index;
  $('strip').children[chosen].classList.add('chosen');
  const token = tokens[chosen];
  const others = token.top.filter((each) => each.text !== token.text)
    .map((each) => `${visible(each.text)} ${percent(each.logprob)}`).join(', ');
  setText('token', `Token ${chosen}: ${visible(token.text)} ${percent(token.logprob)}` +
    (others === '' ? '' : `; others: ${others}`));
}

function clearStrip() {
  tokens = [];
  chosen = -1;
  $('strip').replaceChildren();
  $('strip-box').hidden = false;
}

const tokensTable = () => table('Tokens of the answer', ['number', 'token', 'probability', 'likeliest in its place'],
  tokens.map((token, i) => [`${i}`, visible(token.text), percent(token.logprob),
    token.top.map((each) => `${visible(each.text)} ${percent(each.logprob)}`).join(', ')]));

// --- asking -------------------------------------------------------------------------------------

function requestOf(text) {
  const common = { stream: true, max_tokens: Number($('most').value), temperature: Number($('heat').value) };
  if (!hello.chat) return ['/v1/completions', { ...common, prompt: text, logprobs: 5 }];
  return ['/v1/chat/completions', { ...common, messages, logprobs: true, top_logprobs: 5 }];
}

// The new tokens of a chunk, in the form of either route.
function tokensOf(choice) {
  const { logprobs } = choice;
  if (!logprobs) return [];
  if (logprobs.content) {
    return logprobs.content.map((each) => ({ text: each.token, logprob: each.logprob,
      top: each.top_logprobs.map((other) => ({ text: other.token, logprob: other.logprob })) }));
  }
  return logprobs.tokens.map((text, i) => ({ text, logprob: logprobs.token_logprobs[i],
    top: Object.entries(logprobs.top_logprobs[i]).map(([other, logprob]) => ({ text: other, logprob })) }));
}

async function readAnswer(body, entry) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return text;
    rest += value;
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue;
      const chunk = JSON.parse(line.slice(6));
      if (chunk.error) throw new Error(chunk.error.message);
      const choice = chunk.choices[0];
      if (choice === undefined) continue;
      text += choice.text ?? choice.delta?.content ?? '';
      entry.textContent = text;
      tokensOf(choice).forEach(addToken);
    }
  }
}

function addEntry(name, text) {
  const entry = document.createElement('p');
  entry.className = name;
  entry.textContent = text;
  $('talk').append(entry);
  while ($('talk').children.length > MOST_MESSAGES) $('talk').firstChild.remove();
  return entry;
}

async function ask(text) {
  messages.push({ role: 'user', content: text });
  messages = messages.slice(-MOST_MESSAGES);
  addEntry('said', text);
  const entry = addEntry('wrote', '');
  clearStrip();
  running = new AbortController();
  $('send').disabled = true;
  $('stop').hidden = false;
  setText('chat-note', 'Waiting for the answer');
  try {
    const [path, body] = requestOf(text);
    const answer = await fetch(path, { method: 'POST', signal: running.signal,
      headers: { 'content-type': 'application/json', ...headers() }, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error((await answer.json()).error.message);
    const said = await readAnswer(answer.body, entry);
    messages.push({ role: 'assistant', content: said });
    setText('chat-note', `${tokens.length} tokens`);
  } catch (error) {
    // What has no answer is not asked again with the next message.
    messages.pop();
    setText('chat-note', error.name === 'AbortError' ? 'Stopped' : `Refused: ${error.message}`);
  } finally {
    running = null;
    $('send').disabled = false;
    $('stop').hidden = true;
  }
}

// --- wiring -------------------------------------------------------------------------------------

let wired = false;
export function startChat(greeting, headersOf) {
  hello = greeting;
  headers = headersOf;
  setText('chat-title', hello.chat ? `Chat with ${hello.model}` : `${hello.model} goes on with a text`);
  if (wired) return;
  wired = true;
  $('chat-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const text = $('say').value;
    if (running !== null || text.trim() === '') return;
    $('say').value = '';
    ask(text);
  });
  $('say').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    $('chat-form').requestSubmit();
  });
  $('stop').addEventListener('click', () => running?.abort());
  $('forget').addEventListener('click', () => {
    messages = [];
    $('talk').replaceChildren();
    clearStrip();
    $('strip-box').hidden = true;
    setText('chat-note', '');
  });
  $('strip').addEventListener('pointerover', (event) => {
    if (event.target.dataset.index) choose(Number(event.target.dataset.index));
  });
  $('strip').addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    choose(chosen + step);
  });
  dataOf('strip-data', () => [tokensTable()]);
}
