import { AdapterError } from '../adapter-error.ts';
import type { AdapterTask, TaskImage } from '../task.ts';
import { countImages } from './sight.ts';

export interface Prompt {
  /** The system prompt; undefined if there is none. */
  instructions: string | undefined;
  messages: { role: 'user' | 'assistant'; content: string; images: readonly TaskImage[] }[];
}

/**
 * The messages to send: empty ones are dropped and neighbours with the same role are merged, since several vendors reject the
 * former and require alternating roles.
 */
export function promptOf(task: Pick<AdapterTask, 'system_prompt' | 'messages'>): Prompt {
  const messages: Prompt['messages'] = [];
  for (const { role, content, images = [] } of task.messages) {
    if (content.trim() === '' && images.length === 0) continue;
    const last = messages.at(-1);
    if (last?.role === role) {
      last.content += `\n\n${content}`;
      last.images = [...last.images, ...images];
    } else messages.push({ role, content, images });
  }
  if (messages.length === 0) throw new AdapterError('permanent', 'there is no message to send');
  return { instructions: task.system_prompt.trim() === '' ? undefined : task.system_prompt, messages };
}

/** What an image of average size amounts to, in characters. */
const IMAGE_LENGTH = 6000;

export function lengthOf(prompt: Prompt): number {
  return prompt.messages.reduce(
    (sum, { content }) => sum + content.length,
    (prompt.instructions?.length ?? 0) + countImages(prompt.messages) * IMAGE_LENGTH,
  );
}
