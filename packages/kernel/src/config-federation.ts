/** Variables for the agent-to-agent protocol. */
import { Type } from 'typebox';

export const federationVariables = {
  SERVICE_A2A_PUSH_ALLOWED_HOSTS: Type.Unsafe<string[]>({
    format: 'host-list',
    default: '',
    description:
      'Hosts on private addresses to which push notifications of agent-to-agent tasks may be sent; all others must be public.',
  }),
  SERVICE_A2A_WAIT_SEC: Type.Integer({
    minimum: 0,
    maximum: 300,
    default: 30,
    description:
      'Seconds that a message of an agent-to-agent client may wait for its task to end or to ask; then it is answered as it stands.',
  }),
};
