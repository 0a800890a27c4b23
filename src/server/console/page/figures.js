// The figures of the console: what they draw, and the same as tables.

const $ = (id) => document.getElementById(id);

// --- small things -------------------------------------------------------------------------------

export const shortTime = (seconds) => {
  if (!Number.isFinite(seconds)) return 'unknown';
  if (seconds < 0.01) return `${(seconds * 1000).toFixed(2)} ms`;
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`;
};
export const plural = (count, one, many) => `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

// Neighbours in number are far apart in colour.
export const hueOf = (number) => `hsl(${(number * 137) % 360} 65% ${isDark() ? 65 : 45}%)`;
const isDark = () => matchMedia('(prefers-color-scheme: dark)').matches;

export function setText(id, text) {
  const element = $(id);
  if (element.textContent !== text) element.textContent = text;
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// A canvas as sharp as the screen, of so many pixels in height.
function surface(id, height) {
  const canvas = $(id);
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width };
}

// What cannot be seen of a token or a text: blanks, and what would turn the direction of others.
export function visible(text) {
  return text.replaceAll(' ', '\u2423').replaceAll('\n', '\u240a').replaceAll('\t', '\u2409')
    .replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
      (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`);
}

// A table that can be scrolled by keyboard where it is wider than the page.
export function table(caption, head, body) {
  const box = document.createElement('div');
  box.className = 'wide tall';
  box.tabIndex = 0;
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', caption);
  const made = box.appendChild(document.createElement('table'));
  made.createCaption().textContent = caption;
  const row = made.createTHead().insertRow();
  for (const text of head) {
    const cell = row.appendChild(document.createElement('th'));
    cell.scope = 'col';
    cell.textContent = text;
  }
  const rows = made.createTBody();
  for (const cells of body) {
    const line = rows.insertRow();
    for (const text of cells) line.insertCell().textContent = text;
  }
  return box;
}

// The table of a figure, as of the moment when it is opened, or renewed: one that changed under a
// reader's eyes could not be read.
export function dataOf(id, make) {
  const details = $(id);
  const fill = () => {
    details.querySelectorAll('.wide, button, p').forEach((each) => each.remove());
    if (!details.open) return;
    const renew = document.createElement('button');
    renew.type = 'button';
    renew.textContent = 'Renew';
    renew.addEventListener('click', () => { fill(); details.querySelector('button').focus(); });
    const when = document.createElement('p');
    when.className = 'small';
    when.textContent = `As of ${new Date().toLocaleTimeString()}`;
    details.append(when, renew, ...make());
  };
  details.addEventListener('toggle', fill);
}

// --- pages --------------------------------------------------------------------------------------

const KINDS = ['free', 'cached', 'held', 'shared'];
const KIND_COLOURS = { free: 'grey', cached: 'blue', held: 'amber', shared: 'purple' };

const cellsOf = (pages) => pages.runs.reduce((sum, run) => sum + run[0], 0);

function sizeOfCells(count, width) {
  for (let size = 20; size > 4; --size) {
    if (Math.ceil(count / Math.floor(width / size)) * size <= 280) return size;
  }
  return 4;
}

// From left to right as much of each kind as there is: of one page the whole square.
function drawCell(pen, run, x, y, side) {
  const all = run[1] + run[2] + run[3] + run[4];
  let left = x;
  KINDS.forEach((kind, i) => {
    const part = (side * run[i + 1]) / all;
    if (part === 0) return;
    pen.fillStyle = colour(`${KIND_COLOURS[kind]}${kind === 'free' ? '' : '-on'}`);
    if (kind === 'free') pen.fillStyle = colour('none');
    pen.fillRect(left, y, part, side);
    left += part;
  });
  pen.strokeStyle = colour(run[1] === all ? 'rule' : KIND_COLOURS[KINDS[majorityOf(run)]]);
  pen.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
  if (run[5] > 0) {
    pen.fillStyle = hueOf(run[5]);
    pen.fillRect(x, y + side - Math.max(2, side / 5), side, Math.max(2, side / 5));
  }
}

const majorityOf = (run) => [0, 1, 2, 3].reduce((best, i) => (run[i + 1] > run[best + 1] ? i : best), 0);

export function drawPages(pages) {
  const count = cellsOf(pages);
  const width = $('pages-canvas').clientWidth;
  const size = sizeOfCells(count, width);
  const columns = Math.max(1, Math.floor(width / size));
  const { pen } = surface('pages-canvas', Math.max(1, Math.ceil(count / columns)) * size);
  pen.font = `${Math.min(11, size - 6)}px ui-monospace, monospace`;
  pen.textAlign = 'center';
  let index = 0;
  for (const run of pages.runs) {
    const kind = KINDS[majorityOf(run)];
    for (let i = 0; i < run[0]; ++i, ++index) {
      const x = (index % columns) * size;
      const y = Math.floor(index / columns) * size;
      drawCell(pen, run, x, y, size - 1);
      if (size < 14 || kind === 'free') continue;
      pen.fillStyle = colour(KIND_COLOURS[kind]);
      pen.fillText(kind[0], x + (size - 1) / 2, y + size / 2 + 2);
    }
  }
  const sums = [1, 2, 3, 4].map((i) => pages.runs.reduce((sum, run) => sum + run[0] * run[i], 0));
  // The last cell of a pool may have fewer pages, and its run says so: the sums are exact.
  setText('pages-title', `${sums[0].toLocaleString('en')} of ${plural(pages.count, 'page is', 'pages are')} free, ` +
    `${sums[1].toLocaleString('en')} cached, ${(sums[2] + sums[3]).toLocaleString('en')} in use`);
  setText('pages-note', pages.per_cell === 1 ?
    'A square is a page of 32 positions. Its foot has the colour of its request.' :
    `A square is ${pages.per_cell} pages of 32 positions each. Its foot has the colour of one of their requests.`);
}

function pagesTable(pages) {
  const body = [];
  let first = 0;
  for (const run of pages.runs) {
    const end = Math.min(first + run[0] * pages.per_cell, pages.count);
    body.push([end - first === 1 ? `${first}` : `${first} to ${end - 1}`,
      ...[1, 2, 3, 4].map((i) => `${run[0] * run[i]}`), run[5] > 0 ? `${run[5]}` : '']);
    first = end;
  }
  return table('Pages of the pool', ['pages', ...KINDS, 'request'], body);
}

// --- prefixes -----------------------------------------------------------------------------------

const ROW = 24; // px, the least that WCAG 2.2 asks of what is clicked
const MOST_ROWS = 12; // deeper edges are in the table
let boxes = []; // of the edges as drawn: { edge, x, y, width }, and whose child
let chosen = -1;

// Below the box of its parent, as wide as what lies behind it.
function layOut(tree, width) {
  const places = new Array(tree.edges.length).fill(null);
  const all = tree.edges.reduce((sum, edge) => sum + (edge.parent < 0 ? edge.below : 0), 0);
  let left = 0;
  const used = new Array(tree.edges.length).fill(0);
  tree.edges.forEach((edge, i) => {
    if (edge.parent < 0) {
      const own = all > 0 ? (width * edge.below) / all : 0;
      places[i] = { edge, index: i, x: left, y: 0, width: own };
      left += own;
      return;
    }
    const above = places[edge.parent];
    if (above === null || above.y >= (MOST_ROWS - 1) * ROW) return;
    const behind = above.edge.parent < 0 ? above.edge.below :
      above.edge.below - (above.edge.end - above.edge.begin);
    const own = behind > 0 ? (above.width * edge.below) / behind : 0;
    places[i] = { edge, index: i, x: above.x + used[edge.parent], y: above.y + ROW, width: own };
    used[edge.parent] += own;
  });
  return places.filter((place) => place !== null && place.width >= 1);
}

const nameOfRoot = (edge) => (edge.owner === '' ? 'all' : edge.owner);

function labelOf(edge) {
  if (edge.parent < 0) return nameOfRoot(edge);
  return edge.text === undefined ? `${edge.end - edge.begin} tokens` : visible(edge.text);
}

function drawBox(pen, box, isChosen) {
  const { edge, x, y, width } = box;
  const base = edge.parent < 0 ? 'grey' : edge.used ? 'amber' : 'blue';
  pen.globalAlpha = edge.parent < 0 || edge.used ? 1 : 1 - 0.7 * edge.age;
  pen.fillStyle = colour(base === 'grey' ? 'none' : `${base}-on`);
  pen.fillRect(x, y, width, ROW - 1);
  pen.globalAlpha = 1;
  pen.strokeStyle = colour(isChosen ? 'ink' : base);
  pen.lineWidth = isChosen ? 2 : 1;
  pen.strokeRect(x + 0.5, y + 0.5, Math.max(width - 1, 0.5), ROW - 2);
  if (edge.state) {
    pen.beginPath();
    pen.arc(x + width - 6, y + ROW / 2, 3, 0, 7);
    pen.stroke();
  }
  pen.lineWidth = 1;
  if (width < 16) return;
  pen.save();
  pen.beginPath();
  pen.rect(x + 4, y, width - 8, ROW);
  pen.clip();
  pen.fillStyle = colour('ink');
  pen.fillText(labelOf(edge), x + 4, y + 16);
  pen.restore();
}

export function drawTree(tree) {
  const canvas = $('tree-canvas');
  boxes = layOut(tree, canvas.clientWidth);
  if (chosen >= boxes.length) chosen = -1;
  const rows = boxes.reduce((most, box) => Math.max(most, box.y / ROW + 1), 1);
  const { pen } = surface('tree-canvas', rows * ROW);
  pen.font = '13px ui-monospace, monospace';
  boxes.forEach((box, i) => drawBox(pen, box, i === chosen));
  const roots = tree.edges.filter((edge) => edge.parent < 0);
  const tokens = tree.tokens ?? roots.reduce((sum, edge) => sum + edge.below, 0);
  setText('tree-title', tokens === 0 ? 'No prefix is cached' :
    `Prefixes of ${plural(tokens, 'token is', 'tokens are')} computed and kept`);
}

function tellChosen() {
  if (chosen < 0 || chosen >= boxes.length) return;
  const { edge } = boxes[chosen];
  const what = edge.parent < 0 ? `all prefixes of ${nameOfRoot(edge)}, ${edge.below} tokens` :
    `tokens ${edge.begin} to ${edge.end - 1}, ${edge.below} with all behind them, ` +
    `${edge.used ? 'in use' : 'cached'}${edge.state ? ', with a state' : ''}`;
  setText('tree-edge', edge.text === undefined ? what : `${what}: ${visible(edge.text)}`);
}

function moveChosen(key) {
  // Other keys are the browser's: Tab leaves the figure.
  if (boxes.length === 0 || !key.startsWith('Arrow')) return false;
  const from = boxes[chosen];
  const inRow = (y, x) => boxes.findIndex((box) => box.y === y && box.x + box.width > x + 0.01);
  let next = -1;
  if (from === undefined) next = 0;
  else if (key === 'ArrowRight') next = inRow(from.y, from.x + from.width);
  else if (key === 'ArrowLeft') next = boxes.findLastIndex((box) => box.y === from.y && box.x < from.x - 0.01);
  else if (key === 'ArrowDown') next = boxes.findIndex((box) => box.edge.parent === from.index);
  else next = boxes.findIndex((box) => box.index === from.edge.parent);
  if (next >= 0) chosen = next;
  return true;
}

function listenToTree(seen) {
  const canvas = $('tree-canvas');
  const show = () => { if (seen.tree) drawTree(seen.tree); tellChosen(); };
  canvas.addEventListener('keydown', (event) => {
    if (!moveChosen(event.key)) return;
    event.preventDefault();
    show();
  });
  canvas.addEventListener('pointermove', (event) => {
    const found = boxes.findIndex((box) => event.offsetX >= box.x && event.offsetX < box.x + box.width &&
      event.offsetY >= box.y && event.offsetY < box.y + ROW);
    if (found < 0 || found === chosen) return;
    chosen = found;
    show();
  });
}

function treeTable(tree) {
  return table('The widest prefixes', ['number', 'behind', 'owner', 'tokens', 'with all behind', 'state', 'text'],
    tree.edges.map((edge, i) => [`${i}`, edge.parent < 0 ? '' : `${edge.parent}`,
      edge.parent < 0 ? nameOfRoot(edge) : '', edge.parent < 0 ? '' : `${edge.begin} to ${edge.end - 1}`,
      `${edge.below}`, `${edge.used ? 'in use' : 'cached'}${edge.state ? ', snapshot' : ''}`,
      edge.text === undefined ? '' : visible(edge.text)]));
}

// --- step ---------------------------------------------------------------------------------------

const rowsText = (step) => [[step.decode_rows, 'of answers'], [step.prompt_rows, 'of prompts'],
  [step.guessed_rows, 'of guesses']].filter(([count]) => count > 0).map(([count, of]) => `${count} ${of}`).join(', ');

function bar(pen, y, width, name, value, most, shade) {
  const room = width - 152;
  const length = Math.max(1, (room * Math.min(value, most)) / most);
  pen.fillStyle = colour('ink');
  pen.fillText(name, 0, y + 16);
  pen.fillStyle = colour(`${shade}-on`);
  pen.fillRect(72, y + 4, length, 16);
  pen.strokeStyle = colour(shade);
  pen.strokeRect(72.5, y + 4.5, Math.max(length - 1, 1), 15);
  pen.fillStyle = colour('ink');
  pen.fillText(shortTime(value), 80 + length, y + 16);
}

export function drawStep(step, now) {
  const elapsed = Math.max(0, now - step.began);
  const bars = [];
  // Short steps are over before anybody sees them: there the last one speaks.
  const isLong = step.computing && elapsed > Math.max(0.3, 2 * step.last.seconds);
  if (isLong) bars.push(['so far', elapsed, 'amber']);
  else if (step.last.seconds > 0) bars.push(['took', step.last.seconds, 'amber']);
  if (isLong && Number.isFinite(step.expected ?? NaN)) bars.push(['expected', step.expected, 'purple']);
  const of = isLong ? step : step.last;
  if (of.bound > 0) bars.push(['ceiling', of.bound, 'green']);
  const { pen, width } = surface('step-canvas', Math.max(1, bars.length) * 24);
  pen.font = '13px system-ui, sans-serif';
  const most = Math.max(...bars.map((each) => each[1]), 1e-9);
  bars.forEach(([name, value, shade], i) => bar(pen, i * 24, width, name, value, most, shade));
  setText('step-title', stepTitle(step, elapsed, isLong));
  setText('step-note', stepNote(step, of));
}

function stepTitle(step, elapsed, isLong) {
  if (!step.computing) return 'Nothing is computed';
  const rows = plural(step.decode_rows + step.prompt_rows, 'row', 'rows');
  if (isLong) return `Step ${step.number.toLocaleString('en')} computes ${rows} for ${shortTime(elapsed)} now`;
  return `Step ${step.number.toLocaleString('en')} computes ${rows}`;
}

function stepNote(step, of) {
  const parts = step.computing ? [rowsText(step)] : [];
  const seconds = of === step ? 0 : of.seconds;
  if (of.bound > 0 && seconds > 0) {
    parts.push(`${Math.round((100 * of.bound) / seconds)} % of the machine's ceiling (${of.bound_by})`);
  } else if (seconds > 0 && of.bytes > 0) {
    parts.push(`${(of.bytes / seconds / 1e9).toFixed(1)} GB/s and ${(of.macs / seconds / 1e9).toFixed(1)} ` +
      'GMAC/s; skald serve --ceilings tells how much could be');
  }
  if (step.admitted > 0) parts.push(`${step.admitted} admitted`);
  if (step.preempted > 0) parts.push(`${step.preempted} preempted`);
  parts.push(`watching costs ${shortTime(step.view_seconds)} a look`);
  return parts.join('; ');
}

// --- times --------------------------------------------------------------------------------------

const SECONDS = 120;
const upperBound = (i) => 1e-5 * 10 ** (i / 10); // as the server's histograms have it

// Each second what the histograms were, no more than is drawn.
const past = [];

export function takeStats(stats, now) {
  const second = Math.floor(now);
  if (past.length > 0 && past.at(-1).second === second) past.at(-1).stats = stats;
  else past.push({ second, stats });
  while (past.length > SECONDS + 1) past.shift();
}

function difference(newer, older) {
  const counts = new Map();
  for (let i = 0; i < newer.length; i += 2) counts.set(newer[i], newer[i + 1]);
  for (let i = 0; i < older.length; i += 2) counts.set(older[i], (counts.get(older[i]) ?? 0) - older[i + 1]);
  return [...counts].filter(([, count]) => count > 0).sort((a, b) => a[0] - b[0]);
}

function quantile(counts, share) {
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  let below = 0;
  for (const [bucket, count] of counts) {
    below += count;
    if (below >= share * all) return upperBound(bucket);
  }
  return NaN;
}

// Of each second with tokens: { ago, median }.
function medians(now) {
  const list = [];
  for (let i = 1; i < past.length; ++i) {
    const median = quantile(difference(past[i].stats.tbt, past[i - 1].stats.tbt), 0.5);
    const ago = Math.floor(now) - past[i].second;
    if (Number.isFinite(median) && ago <= SECONDS) list.push({ ago, median });
  }
  return list;
}

function recently(name, now) {
  if (past.length === 0) return [];
  const older = past.find((each) => now - each.second <= 60) ?? past[0];
  const before = older === past[0] ? [] : older.stats[name];
  return difference(past.at(-1).stats[name], before);
}

export function drawTimes(now) {
  const { pen, width } = surface('times-canvas', 56);
  const points = medians(now);
  pen.font = '13px system-ui, sans-serif';
  pen.strokeStyle = colour('rule');
  pen.beginPath();
  pen.moveTo(0, 48.5);
  pen.lineTo(width, 48.5);
  pen.stroke();
  const most = Math.max(...points.map((each) => each.median), 1e-4);
  pen.fillStyle = colour('amber');
  for (const { ago, median } of points) {
    const height = (40 * median) / most;
    pen.fillRect(width * (1 - (ago + 1) / SECONDS), 48 - height, Math.max(1, width / SECONDS - 1), height);
  }
  const tbt = recently('tbt', now);
  const ttft = recently('ttft', now);
  const say = (counts, share) => (counts.length === 0 ? 'none yet' : shortTime(quantile(counts, share)));
  setText('times-title', `First token after ${say(ttft, 0.5)}, then one in ${say(tbt, 0.5)}`);
  setText('times-note', `Medians of a minute; 99 of 100 within ${say(ttft, 0.99)} and ${say(tbt, 0.99)}. ` +
    'Above: the median between tokens, second by second, of two minutes.');
}

function stepTables(seen, now) {
  const { step } = seen;
  const lines = [];
  if (step) {
    for (const [name, value] of Object.entries(step)) {
      if (name !== 'rows' && name !== 'last') lines.push([name, `${value}`]);
    }
    for (const [name, value] of Object.entries(step.last)) lines.push([`last step: ${name}`, `${value}`]);
  }
  const rows = (step ? step.rows : []).map(([number, count, reason]) => [`${number}`, `${count}`, reason]);
  return [table('The step', ['what', 'value'], lines),
    table('Rows of the step', ['request', 'rows', 'reason'], rows),
    table('Median time between tokens', ['seconds ago', 'median'],
      medians(now).map(({ ago, median }) => [`${ago}`, shortTime(median)]))];
}

// --- tables -------------------------------------------------------------------------------------

export function figureData(seen, now) {
  dataOf('pages-data', () => (seen.pages ? [pagesTable(seen.pages)] : []));
  dataOf('tree-data', () => (seen.tree ? [treeTable(seen.tree)] : []));
  dataOf('step-data', () => stepTables(seen, now()));
  listenToTree(seen);
}
