/** Describes and shows files in a prompt: those of an issue, or of a chat's messages. Pure. */
import type { PromptAttachment } from '@acp/core';
import type { PromptImage, PromptReader } from './execution-kind.ts';
import { attachedFile } from './prompt-parts.ts';

/** The newest of all. More would crowd out the text, and cost with every message. */
const MOST_IMAGES = 5;
/** In bytes: the limit every vendor accepts for one image, and the total of a call. */
const LARGEST_IMAGE = 3_750_000;
const ALL_IMAGES = 10_000_000;
const SHOWN_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

const SHOWN = '[The image is shown with this message.]';
const UNSEEN = '[An image. You see none: say so where it matters.]';
const NOT_HERE = '[An image. Answers of verbs show none.]';
const TOO_LARGE = '[An image that is too large or too far back to be shown.]';
const toDownload = (id: string): string =>
  `[An image. To look at it, download $SERVICE_BASE_URL/api/attachments/${id}/download with your key.]`;
const LOOK_AGAIN = '[Its text is still being read: look again with /get-issue.]';
const LEFT_OUT = '[Left out here: newer files take the room.]';

/** A file as a message or an issue refers to it. */
type Named = Pick<PromptAttachment, 'id' | 'filename' | 'content_type' | 'size_bytes'>;

export class PromptFiles {
  readonly #files: ReadonlyMap<string, PromptAttachment>;
  readonly #shown: ReadonlySet<string>;
  readonly #reader: PromptReader | 'answer';
  readonly #of_issue: boolean;

  /**
   * @param files oldest first, their texts within bounds
   * @param reader `answer`: the answer to a verb, which is text only
   * @param of_issue agents may download them
   */
  constructor(files: readonly PromptAttachment[], reader: PromptReader | 'answer', of_issue = false) {
    this.#files = new Map(files.map((file) => [file.id, file]));
    this.#shown = reader === 'seeing_model' ? shownImages(files) : new Set();
    this.#reader = reader;
    this.#of_issue = of_issue;
  }

  /** Returns a text for each attachment. */
  told(attachments: readonly Named[]): string[] {
    return attachments.map((named) => {
      const file = this.#files.get(named.id);
      const instead = this.#instead(named, file);
      const nothing = { text: null, text_status: 'none', text_length: null, storage_key: null } as const;
      return attachedFile(file ?? { ...named, ...nothing }, instead);
    });
  }

  imagesOf(attachments: readonly Named[]): PromptImage[] {
    return attachments.flatMap(({ id, filename, size_bytes }) => {
      const storage_key = this.#shown.has(id) ? this.#files.get(id)?.storage_key : null;
      return storage_key ? [{ filename, storage_key, size_bytes }] : [];
    });
  }

  #instead(named: Named, file: PromptAttachment | undefined): string | undefined {
    if (SHOWN_TYPES.includes(named.content_type)) return this.#ofImage(named);
    if (file === undefined) return LEFT_OUT;
    return file.text_status === 'pending' && this.#of_issue ? LOOK_AGAIN : undefined;
  }

  #ofImage({ id }: Named): string {
    if (this.#shown.has(id)) return SHOWN;
    if (this.#reader === 'program' && this.#of_issue) return toDownload(id);
    return { seeing_model: TOO_LARGE, answer: NOT_HERE, model: UNSEEN, program: UNSEEN }[this.#reader];
  }
}

function shownImages(files: readonly PromptAttachment[]): Set<string> {
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
