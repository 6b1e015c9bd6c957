import type { UserActor } from '@acp/contract';
import type { InstanceGate } from '../../http/instance-state.ts';
import { isInstanceAdmin } from '../../http/roles.ts';
import { html, type Html } from './html.ts';

/** On every page of a company: why no agent starts anything on this instance, and who can do something about it. */
export function stoppedWork({ read_only, runs_paused }: InstanceGate, user: UserActor): Html {
  const may = isInstanceAdmin(user);
  if (read_only)
    return html`<p class="notice">
      This instance is read-only, and no agent starts: its license has ended.
      !${may ? html`<a href="/admin/license">Install a license</a>` : html`An administrator of the instance can install one.`}
    </p>`;
  if (!runs_paused) return '';
  return html`<p class="notice">
    No agent starts: all runs of this instance have been stopped. Waiting work continues when they are allowed
    again.
    !${may ? html`<a href="/admin/settings">Let runs start</a>` : html`An administrator of the instance can allow them.`}
  </p>`;
}
