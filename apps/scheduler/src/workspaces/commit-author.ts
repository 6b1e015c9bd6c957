/** Not a real mailbox: readers of a commit see which agent made it, and on which instance. */
export function authorOf(
  public_url: string,
  agent_id: string,
  name: string,
): { name: string; email: string } {
  const { hostname } = new URL(public_url);
  const plain = name.replaceAll(/[<>\p{Cc}]/gu, ' ').trim();
  // Git refuses a name of which it would drop everything.
  return { name: /^[\s.,:;"'\\]*$/.test(plain) ? 'agent' : plain, email: `${agent_id}@agents.${hostname}` };
}
