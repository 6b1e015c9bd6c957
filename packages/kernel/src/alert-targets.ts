import type { Config } from './config.ts';

type TargetSetting =
  | 'smtp_url'
  | 'alert_mail_to'
  | 'alert_slack_url'
  | 'alert_telegram_token'
  | 'alert_webhook_url';

/** Who receives alerts outside of the service, according to the environment. */
export function alertTargets(config: Pick<Config, 'public_url'> & Partial<Pick<Config, TargetSetting>>) {
  const channels = {
    slack: config.alert_slack_url,
    telegram: config.alert_telegram_token,
    webhook: config.alert_webhook_url,
  };
  return {
    public_url: config.public_url,
    mail: Boolean(config.smtp_url),
    mail_to: config.alert_mail_to ?? [],
    channels: (['slack', 'telegram', 'webhook'] as const).filter((channel) => Boolean(channels[channel])),
  };
}
