/** What a payload must be, by the approval's type. Pure. */
import { type ApprovalType, CreateAgent, createValidator, InstallPayload } from '@acp/contract';
import { invalid } from '@acp/kernel';

/** Of the whole payload as JSON: it is kept in the row, and lists show it. */
const LONGEST = 200_000;

const hire = createValidator(CreateAgent, 'payload');
const install = createValidator(InstallPayload, 'payload');
const installedAgent = createValidator(CreateAgent, 'payload.body');

/** Whether something is carried out when the approval is given. */
export function hasEffect(type: string): boolean {
  return type === 'hire_agent' || type === 'install';
}

/**
 * What can be told when it is asked for is told then; the other bodies are checked by the commands that take them.
 * @throws invalid
 */
export function assertPayload(type: ApprovalType, payload: Record<string, unknown>): void {
  if (JSON.stringify(payload).length > LONGEST) throw invalid(`payload is longer than ${LONGEST} characters`);
  if (type === 'hire_agent') hire(payload);
  if (type !== 'install') return;
  const { kind, body } = install(payload);
  if (kind === 'agent') installedAgent(body);
}

/** The validated payload of an approval that has an effect. A `hire_agent` is the install of an agent. */
export function installOf(type: string, payload: unknown): InstallPayload {
  return type === 'hire_agent' ? { kind: 'agent', body: { ...hire(payload) } } : install(payload);
}
