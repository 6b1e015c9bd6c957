// Calls tools by the Model Context Protocol as a client does: with a key, without the page's session.
import { t } from './texts.js';

const form = document.querySelector('[data-try-tool]');
const [answer, error] = ['answer', 'error'].map((name) => form.querySelector(`[data-try-${name}]`));
const names = form.querySelector('datalist');
let listedFor = null;

async function ask(method, params) {
  const response = await fetch(form.dataset.tryTool, {
    method: 'POST',
    credentials: 'omit',
    headers: {
      authorization: `Bearer ${form.elements.key.value.trim()}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const said = await response.json();
  // An error of the protocol, or of the HTTP layer before it.
  if (said.error) throw new Error(said.error.message ?? said.error);
  return said.result;
}

/** The tools that the key may call, once it has been entered. */
async function list() {
  const key = form.elements.key.value.trim();
  if (key === '' || key === listedFor) return;
  const found = [];
  let cursor;
  do {
    const page = await ask('tools/list', cursor ? { cursor } : {});
    found.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor);
  listedFor = key;
  names.replaceChildren(...found.map(({ name, title }) => new Option(title ?? name, name)));
}

function show(part, text) {
  for (const each of [answer, error]) each.hidden = each !== part;
  part.textContent = text;
}

async function call() {
  const { tool, input } = form.elements;
  let given;
  try {
    given = JSON.parse(input.value.trim() || '{}');
  } catch {
    throw new Error(t`The arguments are not valid JSON.`);
  }
  const { content, isError } = await ask('tools/call', { name: tool.value.trim(), arguments: given });
  const text = content.map((block) => block.text ?? `[${block.type}]`).join('\n');
  show(isError ? error : answer, pretty(text));
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function guarded(work) {
  const [button] = form.querySelectorAll('button');
  button.disabled = true;
  try {
    await work();
  } catch (failure) {
    show(error, failure.message);
  } finally {
    button.disabled = false;
  }
}

form.hidden = false;
form.elements.key.addEventListener('change', () => void guarded(list));
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void guarded(call);
});
if (form.elements.key.value) void guarded(list);
