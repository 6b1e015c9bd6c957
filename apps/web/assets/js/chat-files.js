// Files of a message being written: chosen, pasted or dropped. The input itself keeps them, so that the form sends them
// with or without script.
import { t } from './texts.js';

const PREVIEWED = /^image\/(?:png|jpeg|gif|webp)$/;
const LARGEST_PREVIEW = 5_000_000;

export class ChosenFiles {
  #input;
  #list;

  /** @param place drop target for files */
  constructor(composer, place) {
    this.#input = composer.elements.file;
    this.#list = composer.querySelector('[data-files]');
    this.#input.addEventListener('change', () => this.#show());
    composer.addEventListener('paste', (event) => this.#paste(event));
    composer.addEventListener('reset', () => queueMicrotask(() => this.#show()));
    for (const name of ['dragenter', 'dragover']) {
      place.addEventListener(name, (event) => {
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        place.dataset.drop = '';
      });
    }
    place.addEventListener('dragleave', (event) => {
      if (!place.contains(event.relatedTarget)) delete place.dataset.drop;
    });
    place.addEventListener('drop', (event) => {
      delete place.dataset.drop;
      if (event.dataTransfer.files.length === 0) return;
      event.preventDefault();
      this.set([...this.all, ...event.dataTransfer.files]);
    });
    this.#show();
  }

  get all() {
    return [...this.#input.files];
  }

  set(files) {
    const held = new DataTransfer();
    for (const file of files) held.items.add(file);
    this.#input.files = held.files;
    this.#show();
  }

  // Office programs add a picture of copied text: the text is what was meant.
  #paste(event) {
    const { files, types } = event.clipboardData;
    if (files.length === 0 || types.includes('text/plain')) return;
    event.preventDefault();
    this.set([...this.all, ...files]);
  }

  #show() {
    this.#list.replaceChildren(...this.all.map((file) => this.#item(file)));
  }

  #item(file) {
    const item = document.createElement('li');
    const name = document.createElement('span');
    name.className = 'file-name';
    name.textContent = file.name;
    const remove = document.createElement('button');
    remove.type = 'button';
    remove.className = 'quiet small';
    remove.textContent = '×';
    remove.setAttribute('aria-label', t`Remove ${file.name}`);
    remove.addEventListener('click', () => {
      this.set(this.all.filter((other) => other !== file));
      this.#input.form.elements.body_markdown.focus();
    });
    item.append(name, remove);
    if (PREVIEWED.test(file.type) && file.size <= LARGEST_PREVIEW) preview(file, item);
    return item;
  }
}

/** As a data URL: the page may load no other kind. */
function preview(file, item) {
  const reader = new FileReader();
  reader.addEventListener('load', () => {
    const image = document.createElement('img');
    image.alt = '';
    image.src = reader.result;
    item.prepend(image);
  });
  reader.readAsDataURL(file);
}
