/** Pure rules beyond the role checks of the endpoint table (decisions 7.1, 7.33, 7.34). No tx, no clock. */
import type { Actor, AgentPermission } from '@acp/contract';
import { agentPermissionDefaults, permits } from '@acp/contract';
import { forbidden } from '@acp/kernel';

type AdapterConfig = Record<string, unknown>;

const permissionKeys = Object.keys(agentPermissionDefaults) as AgentPermission[];

/** Initial permissions of a hired agent: the defaults, without what the hiring agent lacks itself. */
export function permissionsOfHire(actor: Actor): Record<string, boolean> {
  if (actor.kind !== 'agent') return {};
  const withheld = permissionKeys.filter(
    (key) => agentPermissionDefaults[key] && !permits(actor.permissions, key),
  );
  return Object.fromEntries(withheld.map((key) => [key, false]));
}

export function isCompanyAdmin(actor: Actor, company_id: string): boolean {
  if (actor.kind === 'user') return actor.instance_role === 'admin' || actor.roles[company_id] === 'admin';
  if (actor.kind === 'board_user') return actor.company_id === company_id && actor.role === 'admin';
  return actor.kind === 'system';
}

/** Whether any string in the configuration references one of the company's secrets. */
export function namesSecret(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('${secret:');
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([key, inner]) => namesSecret(key) || namesSecret(inner));
}

/**
 * Checks whether the actor may replace `before` with `after`. Configurations that reference secrets are reserved for admins and
 * agents with `secrets.use`: changing any other part of them decides where the secret goes. @throws forbidden
 */
export function assertMayConfigure(
  actor: Actor,
  company_id: string,
  before: AdapterConfig,
  after: AdapterConfig,
): void {
  if (isCompanyAdmin(actor, company_id) || sameJson(before, after)) return;
  if (!sameJson(before.allow_dangerous_permissions, after.allow_dangerous_permissions))
    throw forbidden('only admins can set allow_dangerous_permissions');
  const usesSecrets = actor.kind === 'agent' && permits(actor.permissions, 'secrets.use');
  if (!usesSecrets && (namesSecret(before) || namesSecret(after)))
    throw forbidden('only admins and agents with secrets.use can refer to secrets in adapter_config');
}

/** Ignores key order, which jsonb does not preserve. */
export function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
