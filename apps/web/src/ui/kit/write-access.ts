import { roleIn } from '../../http/roles.ts';
import { html, type Html } from './html.ts';
import { t } from './language.ts';
import { postButton } from './parts.ts';
import type { UiContext } from './ui-routes.ts';

/** Whether the user may create and change things in the company; forms are hidden from everyone else. */
export const mayWrite = ({ user, company_id }: Pick<UiContext, 'user' | 'company_id'>): boolean =>
  roleIn(user, company_id) !== 'viewer';

/** Closing section of a page whose subject can be moved to the trash. */
export function trashCard(path: string, what: string, hint: string): Html {
  return html`<section class="card danger">
    <h2>Delete</h2>
    <p>${hint}</p>
    !${postButton(path, 'Move to the trash', { class: 'danger', confirm: t`Delete ${what}?` })}
  </section>`;
}
