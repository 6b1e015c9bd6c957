import { AdapterError } from '../adapter-error.ts';
import type { AdapterTask, TaskImage } from '../task.ts';
import { countImages } from './sight.ts';

export interface Prompt {
  /** The system prompt; undefined where there is none. */
  instructions: string | undefined;
  messages: { role: 'user' | 'assistant'; content: string; images: readonly TaskImage[] }[];
}

/**
 * What is sent: empty messages left out and neighbours of one role joined, since several vendors refuse the former
 * and want roles to alternate.
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

/** What an image of common size comes to, in characters. */
const IMAGE_LENGTH = 6000;

export function lengthOf(prompt: Prompt): number {
  return prompt.messages.reduce(
    (sum, { content }) => sum + content.length,
    (prompt.instructions?.length ?? 0) + countImages(prompt.messages) * IMAGE_LENGTH,
  );
}
