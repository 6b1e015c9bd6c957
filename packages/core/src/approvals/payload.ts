/** Valid payloads by type of approval. Pure. */
import { type ApprovalType, CreateAgent, createValidator, InstallPayload } from '@acp/contract';
import { invalid, said } from '@acp/kernel';

/** Maximum length of the payload as JSON: it is stored in the row and shown in lists. */
const LONGEST = 200_000;

const hire = createValidator(CreateAgent, 'payload');
const install = createValidator(InstallPayload, 'payload');
const installedAgent = createValidator(CreateAgent, 'payload.body');

/** Types of which approving carries something out. */
export const typesWithEffect: readonly string[] = ['hire_agent', 'install'] satisfies ApprovalType[];

export function hasEffect(type: string): boolean {
  return typesWithEffect.includes(type);
}

/**
 * Checks what can be checked when the approval is requested; other bodies are checked by the commands that take them.
 * @throws invalid
 */
export function assertPayload(type: ApprovalType, payload: Record<string, unknown>): void {
  if (JSON.stringify(payload).length > LONGEST)
    throw invalid(said`payload is longer than ${LONGEST} characters`);
  if (type === 'hire_agent') hire(payload);
  if (type !== 'install') return;
  const { kind, body } = install(payload);
  if (kind === 'agent') installedAgent(body);
}

/** The validated payload of an approval with an effect. A `hire_agent` is the install of an agent. */
export function installOf(type: string, payload: unknown): InstallPayload {
  return type === 'hire_agent' ? { kind: 'agent', body: { ...hire(payload) } } : install(payload);
}
