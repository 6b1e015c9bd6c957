/** The end of the demo: a question in a chat, answered from what the agents have written down. */
import type { Client } from './client.ts';
import type { DemoCompany } from './company.ts';
import { until } from './until.ts';

/** About the council's conclusion, phrased like someone who was not there. */
const QUESTION = 'What did we decide about the shop on the quay, and why?';
/** Of the issue that the council was about. */
const TITLE = /second shop/i;
const PATIENCE_MS = 30_000;

interface Message {
  role: string;
  body_markdown: string;
  error: string | null;
}

interface DemoChat {
  path: string;
  question: string;
  /** Null: it failed or did not arrive in time. */
  answer: string | null;
}

/** Issues become searchable a second or two after they are closed. */
export async function untilKnown(client: Client, { id }: DemoCompany, over: AbortSignal): Promise<void> {
  const search = `/api/companies/${id}/knowledge/search?q=${encodeURIComponent(QUESTION)}`;
  await until(AbortSignal.any([over, AbortSignal.timeout(PATIENCE_MS)]), async () =>
    (await client.get<{ source_type: string; title: string }[]>(search)).some(
      ({ source_type, title }) => source_type === 'issue' && TITLE.test(title),
    ),
  );
}

export async function askInChat(
  client: Client,
  { id: company_id, agents }: DemoCompany,
  over: AbortSignal,
): Promise<DemoChat> {
  const signal = AbortSignal.any([over, AbortSignal.timeout(PATIENCE_MS)]);
  const chats = `/api/companies/${company_id}/chats`;
  const { id } = await client.post<{ id: string }>(chats, { agent_id: agents[0]!.id });
  const messages = `/api/chats/${id}/messages`;
  await client.post(messages, { body_markdown: QUESTION });
  const reply = await until(signal, async () => {
    const said = await client.get<Message[]>(messages);
    return said.find(({ role, error }) => role === 'assistant' || error !== null);
  });
  const answer = reply?.role === 'assistant' ? reply.body_markdown : null;
  return { path: `/chats/${id}`, question: QUESTION, answer };
}
