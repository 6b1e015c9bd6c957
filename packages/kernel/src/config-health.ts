/** Variables for access to metrics and for the thresholds of `/readyz` (specification, /readyz). */
import { Type } from 'typebox';

/** A malformed value silently falls back to the default. */
const lenient = { lenient: true };
const secret = { secret: true };

export const healthVariables = {
  SERVICE_METRICS_TOKEN: Type.Optional(
    Type.String({
      ...secret,
      default_note: 'unset: open',
      description: 'Bearer token that /metrics demands.',
    }),
  ),
  SERVICE_READYZ_POOL_UTILIZATION_PCT: Type.Number({
    ...lenient,
    minimum: 0,
    maximum: 100,
    default: 90,
    description: 'Share of busy database connections above which /readyz is not ready.',
  }),
  SERVICE_READYZ_WORKER_ERROR_RATE_PCT: Type.Number({
    ...lenient,
    minimum: 0,
    maximum: 100,
    default: 50,
    description: 'Share of failed ticks above which a background worker is not ready.',
  }),
  SERVICE_READYZ_CHANNEL_STALENESS_SEC: Type.Number({
    ...lenient,
    minimum: 1,
    maximum: 86_400,
    default: 60,
    description: 'Silence of Slack or Telegram, in seconds, after which the rows of channels are not ready.',
  }),
  SERVICE_READYZ_DISK_PCT: Type.Number({
    ...lenient,
    minimum: 0,
    maximum: 100,
    default: 90,
    description: 'Usage of the file system above which /readyz is not ready.',
  }),
  SERVICE_READYZ_BACKUP_CHECK: Type.Enum(['enable', 'disable'], {
    ...lenient,
    default: 'enable',
    description: 'disable lets /readyz report the backup row as fine without looking.',
  }),
  SERVICE_READYZ_BACKUP_MAX_AGE_HOURS: Type.Number({
    ...lenient,
    minimum: 0,
    maximum: 87_600,
    default: 36,
    description: 'Age of the last backup above which /readyz is not ready.',
  }),
  SERVICE_READYZ_CHECK_P99_MS: Type.Number({
    ...lenient,
    minimum: 1,
    maximum: 3_600_000,
    default: 1000,
    description: 'Recent p99 of a check above which it is not ready.',
  }),
};
