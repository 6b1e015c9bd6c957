/** Images in a conversation: which models accept them, and the text shown to those that don't. */
import type { ProviderFamily } from '@acp/contract';
import type { AdapterTask } from '../task.ts';

type Message = AdapterTask['messages'][number];

/** Vendors' own models that are known to accept only text; all others, including future ones, see images. */
const blind: Partial<Record<ProviderFamily, RegExp>> = {
  family_chat_a:
    /^(?:ft:)?(?:gpt-3|gpt-4(?:-32k)?(?:-\d{4})?$|gpt-oss|o1-mini|o1-preview|o3-mini|davinci|babbage)/,
  family_chat_b: /^claude-(?:instant|1|2)/,
  family_cloud: /anthropic\.claude-(?:instant|v1|v2)/,
};
/** Models behind the compatible interface that are known to see. */
const seeing =
  /(?:^|[^a-z])(?:vl|vision|4o|llava|bakllava|pixtral|moondream|minicpm-v|internvl|cogvlm|molmo|gemini|gemma-?[34]|claude-(?:3|opus|sonnet|haiku)|gpt-(?:4\.1|4-turbo|[5-9])|o[134](?![a-z0-9-]*mini)|o4-mini|llama-?4|mistral-(?:small-3|medium-3|large-3)|grok-(?:[4-9])|phi-[34](?:\.\d)?-(?:vision|multimodal)|omni)/i;

/** Decided by name, without a request. If an endpoint rejects the images after all, the call is repeated with text. */
export function takesImages(family: ProviderFamily, model: string): boolean {
  if (family === 'family_compat') return seeing.test(model);
  return blind[family]?.test(model) !== true;
}

/** Replaces images with text. */
export function withoutImages(messages: readonly Message[]): Message[] {
  return messages.map(({ images = [], ...message }) => {
    const names = images.map(({ filename }) => `[The image ${filename} is not shown: the model takes none.]`);
    return { ...message, content: [message.content, ...names].join('\n') };
  });
}

export const countImages = (messages: readonly Pick<Message, 'images'>[]): number =>
  messages.reduce((sum, { images }) => sum + (images?.length ?? 0), 0);
