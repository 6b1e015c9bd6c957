// Markdown that grows. Complete blocks keep their nodes: only what has changed is rendered again.

let parser;
let loading;

/** Loaded with the first streaming reply: pages without one don't need it. */
async function loadParser() {
  const { default: MarkdownIt } = await import('./markdown-it.js');
  // Like the server's: no HTML passes. Pictures are left to the server, which decides about them.
  parser = new MarkdownIt({ html: false, linkify: true, breaks: true });
  parser.renderer.rules.image = (tokens, index) => parser.utils.escapeHtml(tokens[index].content);
}

export class LiveText {
  #place;
  #around;
  #text = '';
  #blocks = [];
  #due = 0;

  /** @param around is called with each change of the page */
  constructor(place, around) {
    this.#place = place;
    this.#around = around;
    loading ??= loadParser();
    void loading.then(() => this.#draw());
  }

  add(text) {
    this.#text += text;
    this.#due ||= requestAnimationFrame(() => this.#draw());
  }

  clear() {
    this.#text = '';
    this.#due ||= requestAnimationFrame(() => this.#draw());
  }

  close() {
    cancelAnimationFrame(this.#due);
    this.#place.setAttribute('aria-busy', 'false');
  }

  #draw() {
    this.#due = 0;
    if (!parser || (this.#text === '' && this.#blocks.length === 0)) return;
    const blocks = blocksOf(this.#text);
    this.#around(() => {
      const root = this.#root();
      for (const [index, html] of blocks.entries()) {
        if (this.#blocks[index] === html) continue;
        const block = document.createElement('div');
        block.className = 'block';
        block.innerHTML = html;
        const old = root.children[index];
        if (old) grow(old, block);
        else root.append(block);
      }
      while (root.children.length > blocks.length) root.lastElementChild.remove();
    });
    this.#blocks = blocks;
  }

  #root() {
    const known = this.#place.querySelector(':scope > .markdown');
    if (known) return known;
    const root = document.createElement('div');
    root.className = 'markdown';
    this.#place.replaceChildren(root);
    return root;
  }
}

/** Makes an element like the next one, and leaves what they share: what somebody has selected there stays selected. */
function grow(old, next) {
  const had = [...old.childNodes];
  const has = [...next.childNodes];
  for (const [index, node] of has.entries()) {
    const known = had[index];
    if (known === undefined) old.append(node);
    else if (known instanceof Text && node instanceof Text) growText(known, node.data);
    else if (known.cloneNode().isEqualNode(node.cloneNode())) grow(known, node);
    else known.replaceWith(node);
  }
  for (const gone of had.slice(has.length)) gone.remove();
}

function growText(node, text) {
  let shared = 0;
  while (shared < node.length && node.data[shared] === text[shared]) shared += 1;
  if (shared < Math.max(node.length, text.length))
    node.replaceData(shared, node.length - shared, text.slice(shared));
}

/** The HTML of each top-level block. */
function blocksOf(text) {
  const env = {};
  const blocks = [];
  let open = [];
  for (const token of parser.parse(text, env)) {
    open.push(token);
    if (token.level === 0 && token.nesting <= 0) {
      blocks.push(parser.renderer.render(open, parser.options, env));
      open = [];
    }
  }
  return blocks;
}
