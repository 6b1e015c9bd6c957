import type { Html } from '../kit/html.ts';
import { postButton } from '../kit/parts.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';

/** Button that opens a new chat with the agent; next to the title of the agent's pages. */
export function chatButton(
  context: Pick<UiContext, 'user' | 'company_id'>,
  { id, status }: { id: string; status: string },
): Html {
  // One that has ended never answers again.
  if (!mayWrite(context) || status === 'terminated') return '';
  return postButton(`/companies/${context.company_id}/chats`, 'Chat', {
    class: 'primary',
    fields: { agent_id: id },
  });
}
