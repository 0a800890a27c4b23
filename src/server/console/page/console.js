// The console: asks the server what happens, and hands each part to its figure.
import { drawPages, drawStep, drawTimes, drawTree, figureData, hueOf, plural, setText, shortTime, takeStats }
  from '/console/figures.js';
import { startChat } from '/console/chat.js';

const $ = (id) => document.getElementById(id);
const KEY = 'skald-key';

// What is known: the last of each part, and how the engine's clock stands to this page's.
const seen = { hello: null, step: null, stats: null, pages: null, requests: [], tree: null };
let clock = { engine: 0, page: 0 };
const engineNow = () => clock.engine + (performance.now() - clock.page) / 1000;

function headers() {
  const key = sessionStorage.getItem(KEY);
  return key ? { authorization: `Bearer ${key}` } : {};
}

// --- the stream ---------------------------------------------------------------------------------

function say(text, isOff) {
  const link = $('link');
  if (link.textContent !== text) link.textContent = text;
  link.classList.toggle('off', isOff);
}

// Server-sent events, read by fetch: an EventSource can bring no key.
async function readEvents(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split('\n\n');
    rest = events.pop();
    for (const event of events) {
      const name = /^event: (.*)$/m.exec(event);
      const data = /^data: (.*)$/m.exec(event);
      if (name && data) take(name[1], JSON.parse(data[1]));
    }
  }
}

function askForKey(wrong) {
  sessionStorage.removeItem(KEY);
  $('views').hidden = $('chat').hidden = true;
  $('key-form').hidden = false;
  say(wrong ? 'The key was refused' : 'A key is needed', wrong);
  $('key').focus();
}

async function watch() {
  const hadKey = sessionStorage.getItem(KEY) !== null;
  const answer = await fetch('/console/events', { headers: headers(), cache: 'no-store' });
  if (answer.status === 401) return askForKey(hadKey);
  if (!answer.ok) throw new Error((await answer.json()).error.message);
  await readEvents(answer.body, take);
  throw new Error('The server has ended the stream');
}

let wait = 1;
async function keepWatching() {
  while ($('key-form').hidden) {
    try {
      await watch();
    } catch (error) {
      say(`Not connected: ${error.message}. Next try in ${wait} s`, true);
      await new Promise((resolve) => { setTimeout(resolve, wait * 1000); });
      wait = Math.min(2 * wait, 16);
    }
  }
}

$('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, $('key').value.trim());
  $('key').value = '';
  $('key-form').hidden = true;
  keepWatching();
});

// --- parts --------------------------------------------------------------------------------------

function take(name, data) {
  if (name === 'tick') {
    clock = { engine: data.now, page: performance.now() };
    return;
  }
  seen[name] = data;
  if (name === 'hello') return greet(data);
  if (name === 'stats') takeStats(data, engineNow());
  changed.add(name);
}

function greet(hello) {
  wait = 1;
  say('Connected', false);
  const millions = hello.parameters / 1e6;
  const size = millions < 1000 ? `${millions.toFixed(1)} M` : `${(millions / 1000).toFixed(1)} G`;
  $('served').textContent = `${hello.model}, ${size} parameters, ${hello.type}, ${hello.isa}, ` +
    `${hello.threads} threads`;
  $('views').hidden = $('chat').hidden = false;
  $('views').classList.toggle('own', !hello.admin);
  for (const id of ['pages', 'step']) $(id).hidden = !hello.admin;
  $('not-admin').hidden = hello.admin;
  startChat(hello, headers);
}

// --- requests -----------------------------------------------------------------------------------

const rows = new Map(); // number of a request -> { row, cells }

function rowOf(request) {
  const known = rows.get(request.number);
  if (known) return known;
  const row = document.createElement('tr');
  const head = document.createElement('th');
  head.scope = 'row';
  const mark = document.createElement('span');
  mark.className = 'mark';
  mark.style.background = hueOf(request.number);
  head.append(mark, `${request.number}`);
  row.append(head);
  const cells = [];
  for (let i = 0; i < 7; ++i) {
    const cell = document.createElement('td');
    if (i > 0 && i < 5) cell.className = 'n';
    cells.push(cell);
    row.append(cell);
  }
  const made = { row, cells };
  rows.set(request.number, made);
  return made;
}

function cellsOf(request) {
  const waited = engineNow() - request.submitted;
  const ttft = request.first === null ? `${shortTime(Math.max(waited, 0))} +` : shortTime(request.first - request.submitted);
  const span = request.last - request.first;
  const rate = request.first !== null && span > 0 ? ((request.output - 1) / span).toFixed(1) : '';
  const share = request.prompt > 0 ? Math.round((100 * request.cached) / request.prompt) : 0;
  const many = request.sequences > 1 ? ` x ${request.sequences}` : '';
  return [request.state + many, `${request.prompt} + ${request.output}`, `${share} %`, ttft, rate, request.tenant,
    request.id];
}

function showRequests() {
  const requests = seen.requests;
  const running = requests.filter((each) => each.state === 'prefill' || each.state === 'decode').length;
  const waiting = seen.stats ? Math.max(requests.length - running, 0) : requests.length - running;
  setText('requests-title', requests.length === 0 ? 'No request is here' :
    `${plural(running, 'request runs', 'requests run')}, ${plural(waiting, 'waits', 'wait')}`);
  const body = $('requests-body');
  const present = new Set();
  requests.forEach((request, index) => {
    present.add(request.number);
    const { row, cells } = rowOf(request);
    cellsOf(request).forEach((text, i) => {
      if (cells[i].textContent !== text) cells[i].textContent = text;
    });
    if (body.children[index] !== row) body.insertBefore(row, body.children[index] ?? null);
  });
  for (const [number, { row }] of rows) {
    if (present.has(number)) continue;
    row.remove();
    rows.delete(number);
  }
}

// --- drawing ------------------------------------------------------------------------------------

// At most ten times a second, and only what has changed; times go on where nothing comes.
const changed = new Set();
let lastClock = 0;
function draw() {
  const now = performance.now();
  const moving = now - lastClock > 250;
  if (seen.hello !== null && !document.hidden) {
    if (changed.has('requests') || (moving && seen.requests.some((each) => each.first === null))) showRequests();
    if (changed.has('pages') && seen.pages) drawPages(seen.pages, seen.requests);
    if (changed.has('tree') && seen.tree) drawTree(seen.tree);
    const isLong = seen.step !== null && seen.step.computing;
    if (seen.step !== null && (changed.has('step') || (moving && isLong))) drawStep(seen.step, engineNow());
    if (seen.stats !== null && (changed.has('stats') || moving)) drawTimes(engineNow());
    changed.clear();
    if (moving) lastClock = now;
  }
  setTimeout(() => requestAnimationFrame(draw), 90);
}

function redrawAll() {
  for (const name of ['requests', 'pages', 'tree', 'step', 'stats']) changed.add(name);
  for (const [number, { row }] of rows) row.querySelector('.mark').style.background = hueOf(number);
}
addEventListener('resize', redrawAll);
document.addEventListener('visibilitychange', redrawAll);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);

figureData(seen, engineNow);
requestAnimationFrame(draw);
keepWatching();
