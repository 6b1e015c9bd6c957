/** What a prompt is told and shown of the files in a chat. Pure. */
import type { ChatFacts, PromptFile, SaidMessage } from '@acp/core';
import type { PromptImage, PromptReader } from '../execution-kind.ts';
import { attachedFile } from '../prompt-parts.ts';

/** Of all in the conversation, the newest. More would crowd out what is said, and cost with every message. */
const MOST_IMAGES = 5;
/** In bytes: what every vendor takes of one, and what a call carries of all. */
const LARGEST_IMAGE = 3_750_000;
const ALL_IMAGES = 10_000_000;
const SHOWN_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const SHOWN = '[The image is shown with this message.]';
const UNSEEN = '[An image. You see none: say so where it matters.]';
const TOO_LARGE = '[An image that is too large or too far back to be shown.]';
const LEFT_OUT = '[Left out here: newer files take the room.]';

type Message = Pick<SaidMessage, 'attachments'>;

export class Files {
  readonly #files: ReadonlyMap<string, PromptFile>;
  readonly #shown: ReadonlySet<string>;
  readonly #sees: boolean;

  constructor({ files }: Pick<ChatFacts, 'files'>, reader: PromptReader) {
    this.#files = new Map(files.map((file) => [file.id, file]));
    this.#sees = reader === 'seeing_model';
    this.#shown = this.#sees ? shownImages(files) : new Set();
  }

  /** A text for each file of the message. */
  told({ attachments }: Message): string[] {
    return attachments.map((named) => {
      const file = this.#files.get(named.id);
      const instead = this.#instead(named, file);
      const nothing = { text: null, text_status: 'none', text_length: null } as const;
      return attachedFile(file ?? { ...named, ...nothing }, instead);
    });
  }

  imagesOf({ attachments }: Message): PromptImage[] {
    return attachments.flatMap(({ id, filename }) => {
      const storage_key = this.#shown.has(id) ? this.#files.get(id)?.storage_key : null;
      return storage_key ? [{ filename, storage_key }] : [];
    });
  }

  #instead(named: Message['attachments'][number], file: PromptFile | undefined): string | undefined {
    if (SHOWN_TYPES.includes(named.content_type)) {
      if (this.#shown.has(named.id)) return SHOWN;
      return this.#sees ? TOO_LARGE : UNSEEN;
    }
    return file === undefined ? LEFT_OUT : undefined;
  }
}

function shownImages(files: readonly PromptFile[]): Set<string> {
  const shown = new Set<string>();
  let room = ALL_IMAGES;
  for (const { id, content_type, size_bytes, storage_key } of files.toReversed()) {
    if (shown.size === MOST_IMAGES) break;
    const fits = size_bytes <= Math.min(room, LARGEST_IMAGE);
    if (storage_key === null || !SHOWN_TYPES.includes(content_type) || !fits) continue;
    shown.add(id);
    room -= size_bytes;
  }
  return shown;
}
