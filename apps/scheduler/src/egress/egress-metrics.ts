import type { EgressDoor } from '@acp/contract';
import { Counter, register } from 'prom-client';

const NAME = 'service_egress_refused_total';

/** Several schedulers in one process (tests) share the process's registry. */
const refused =
  (register.getSingleMetric(NAME) as Counter | undefined) ??
  new Counter({
    name: NAME,
    help: 'Requests to hosts that a company or the operator does not let out',
    labelNames: ['door'],
  });

export function countRefusals(door: EgressDoor, times: number): void {
  refused.inc({ door }, times);
}
