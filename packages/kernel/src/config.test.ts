import { describe, expect, it } from '@jest/globals';
import { isAbsolute } from 'node:path';
import {
  ConfigError,
  configReference,
  configSecrets,
  loadConfig,
  serviceVersion,
  type Environment,
} from './index.ts';

const hexKey = 'ab'.repeat(32);
const base64Key = Buffer.alloc(32, 7).toString('base64');

function problemsOf(env: Environment): ConfigError {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('the environment was accepted');
}

describe('the configuration', () => {
  it('needs no variable at all', () => {
    const config = loadConfig({});
    expect(config).toMatchObject({
      role: 'all',
      port: 3100,
      host: '127.0.0.1',
      public_url: 'http://localhost:3100',
      database_url: null,
      database_direct_url: null,
      database_pool_size: 5,
      rate_limit_rpm: 300,
      worker_pool_size: 5,
      run_lease_sec: 30,
      drain_timeout_sec: 30,
      max_upload_size: 25_000_000,
      encryption_key: null,
      encryption_key_previous: [],
      llm_allowed_hosts: [],
      webhook_allowed_hosts: [],
      mcp_allowed_hosts: [],
      mcp_commands: new Map(),
      mcp_max_programs: 20,
      webhook_timeout_sec: 10,
      llm_idle_timeout_sec: 300,
      llm_timeout_sec: 1800,
      provider_egress: 'any',
      run_retention_days: 90,
      readyz_pool_utilization_pct: 90,
      readyz_worker_error_rate_pct: 50,
      readyz_disk_pct: 90,
      readyz_backup_check: 'enable',
      readyz_backup_max_age_hours: 36,
      readyz_check_p99_ms: 1000,
      log_level: 'info',
      unknown_variables: [],
    });
    expect(isAbsolute(config.home) && config.home.endsWith('.service')).toBe(true);
    expect(['json', 'pretty']).toContain(config.log_format);
  });

  it('takes empty and blank texts as unset', () => {
    const blank = loadConfig({ PORT: '', SERVICE_ROLE: '  ', SERVICE_ENCRYPTION_KEY: '', SERVICE_X: '' });
    expect(JSON.stringify(blank)).toBe(JSON.stringify(loadConfig({})));
  });

  it('reads every kind of value, trimmed', () => {
    const config = loadConfig({
      PORT: ' 8080 ',
      SERVICE_ROLE: 'web',
      SERVICE_TRUSTED_PROXIES: '10.0.0.0/8',
      SERVICE_MAX_UPLOAD_SIZE: '1MiB',
      SERVICE_ENCRYPTION_KEY: hexKey,
      SERVICE_ENCRYPTION_KEY_PREVIOUS: `${base64Key}, ${hexKey}`,
      SERVICE_LLM_ALLOWED_HOSTS: 'API.example.com, [::1]:8443,',
      SERVICE_HOME: 'state',
      SERVICE_PRICING_FILE: '/etc/prices.json',
      DATABASE_URL: 'postgres://u:p@db/x',
      SERVICE_PUBLIC_URL: 'https://acp.example.com/',
      SERVICE_READYZ_DISK_PCT: '92.5',
      LOG_FORMAT: 'pretty',
    });
    expect(config.port).toBe(8080);
    expect(config.role).toBe('web');
    expect(config.trusted_proxies.includes('10.9.9.9')).toBe(true);
    expect(config.max_upload_size).toBe(1_048_576);
    expect(config.encryption_key?.toString('hex')).toBe(hexKey);
    expect(config.encryption_key_previous.map((key) => key.length)).toEqual([32, 32]);
    expect(config.llm_allowed_hosts).toEqual(['api.example.com', '[::1]:8443']);
    expect(isAbsolute(config.home) && config.home.endsWith('/state')).toBe(true);
    expect(config.pricing_file).toBe('/etc/prices.json');
    expect(config.database_direct_url).toBe('postgres://u:p@db/x');
    expect(config.public_url).toBe('https://acp.example.com');
    expect(config.readyz_disk_pct).toBe(92.5);
    expect(config.log_format).toBe('pretty');
  });

  it('has fewer connections to the embedded database, unless it says how many', () => {
    const outside = { DATABASE_URL: 'postgres://db/x' };
    expect(loadConfig(outside).database_pool_size).toBe(10);
    expect(loadConfig({ SERVICE_DATABASE_POOL_SIZE: '7' }).database_pool_size).toBe(7);
    expect(loadConfig({ ...outside, SERVICE_DATABASE_POOL_SIZE: '7' }).database_pool_size).toBe(7);
  });

  it('follows the port with the public URL, and keeps a direct database URL of its own', () => {
    expect(loadConfig({ PORT: '4000' }).public_url).toBe('http://localhost:4000');
    expect(loadConfig({ DATABASE_URL: 'postgres://u:p,q@db/x,y?sslmode=require' }).database_url).toContain(
      'p,q@db',
    );
    const split = { DATABASE_URL: 'postgres://pooler/x', DATABASE_DIRECT_URL: 'postgresql://db/x' };
    expect(loadConfig(split).database_direct_url).toBe('postgresql://db/x');
  });

  it.each([
    ['SERVICE_ROLE', 'worker', 'one of all, web, scheduler'],
    ['SERVICE_ROLE', 'ALL', 'one of all, web, scheduler'],
    ['PORT', '65536', 'a whole number from 0 to 65535'],
    ['PORT', '31e2', 'a whole number'],
    ['PORT', '0x10', 'a whole number'],
    ['PORT', '80.5', 'a whole number'],
    ['RATE_LIMIT_RPM', '-1', 'a whole number from 0'],
    ['WORKER_POOL_SIZE', '0', 'a whole number from 1'],
    ['SERVICE_MAX_REMOTE_WORKERS', '-1', 'a whole number of at least 0'],
    ['SERVICE_RUN_LEASE_SEC', 'soon', 'a whole number'],
    ['SERVICE_TRUSTED_PROXIES', '10.0.0.0/33', '"10.0.0.0/33" is neither'],
    ['SERVICE_MAX_UPLOAD_SIZE', '25 M', 'a size such as 25MB'],
    ['SERVICE_MAX_UPLOAD_SIZE', '0', 'a size such as 25MB'],
    ['SERVICE_ENCRYPTION_KEY', 'ab'.repeat(31), '32 bytes as 64 hex'],
    ['SERVICE_ENCRYPTION_KEY', Buffer.alloc(31).toString('base64'), '32 bytes as 64 hex'],
    ['SERVICE_ENCRYPTION_KEY_PREVIOUS', `${hexKey},x`, 'a comma list of keys'],
    ['DATABASE_URL', 'mysql://db/x', 'a postgres:// URL'],
    ['DATABASE_URL', 'postgres://u:100%@db/x', '%25'],
    ['DATABASE_URL', 'postgres://u:p@a:5432,b:5432/x', 'one host'],
    ['DATABASE_URL', 'postgres://u:p,q@db,other/x?sslmode=require', 'one host'],
    ['DATABASE_URL', 'postgres://u:p@/x?host=a,b', 'one host'],
    ['DATABASE_URL', 'postgres://db/x?target_session_attrs=read-write', 'one host'],
    ['SERVICE_PUBLIC_URL', 'acp.example.com', 'an http or https URL'],
    ['SERVICE_PUBLIC_URL', 'ftp://acp.example.com', 'an http or https URL'],
    ['SERVICE_DEFAULT_LLM_BASE_URL', 'https://u:p@host', 'without credentials'],
    ['SERVICE_DEFAULT_LLM_BASE_URL', 'https://host/?a=1', 'without a query'],
    ['SERVICE_DEFAULT_LLM_PROVIDER', 'family_x', 'one of family_chat_a'],
    ['SERVICE_LLM_ALLOWED_HOSTS', 'https://host', '"https://host" is no host'],
    ['SERVICE_HOME_ROOTS', 'acme=relative', '"acme=relative" is none'],
    ['SERVICE_HOME_ROOTS', '/srv/acme', '"/srv/acme" is none'],
    ['SERVICE_REMOTE_EGRESS_DNS_ADDR', 'dns.example:53', 'an IP address'],
    ['SERVICE_REMOTE_EGRESS_DNS_ADDR', '10.0.0.53:70000', 'an IP address'],
    ['SERVICE_PROVIDER_EGRESS', 'private', 'one of any, public'],
    ['SERVICE_MCP_COMMANDS', '{"a":{}}', "a must have required property 'command'"],
    ['SERVICE_MCP_COMMANDS', '{"a":{"command":["x"],"env":["1"]}}', 'a/env/0 must match pattern'],
    ['SERVICE_MCP_COMMANDS', '{"a":{"command":["x"],"env":["PATH"]}}', "a: PATH can't be set by companies"],
    ['SERVICE_BACKUP_SCHEDULE', 'daily', 'a cron expression'],
    ['SERVICE_BACKUP_SCHEDULE', '0 3 * *', 'a cron expression'],
    ['SERVICE_S3_PREFIX', '/files/', 'a folder'],
    ['SERVICE_S3_PREFIX', 'a/../b', 'a folder'],
    ['SERVICE_S3_PREFIX', 'x'.repeat(101), 'a folder'],
    ['LOG_LEVEL', 'verbose', 'one of debug, info, warn, error'],
    ['LOG_FORMAT', 'xml', 'one of json, pretty'],
  ])('refuses %s=%s with its name and what it accepts', (name, text, accepted) => {
    const error = problemsOf({ [name]: text });
    expect(error.variables).toEqual([name]);
    expect(error.message).toContain(`${name}: must be `);
    expect(error.message).toContain(accepted);
  });

  it.each([
    ['SERVICE_BACKUP_SCHEDULE', 'off'],
    ['SERVICE_BACKUP_SCHEDULE', '*/5 1-3 * jan MON'],
    ['SERVICE_S3_PREFIX', 'of.one/in_stance-2'],
  ])('takes %s=%s', (name, text) => {
    expect(Object.values(loadConfig({ [name]: text }))).toContain(text);
  });

  it('gathers the folders of each company', () => {
    const text = 'acme=/srv/a, acme=/srv/b=c ,other-co=/x';
    expect(loadConfig({ SERVICE_HOME_ROOTS: text }).home_roots).toEqual({
      acme: ['/srv/a', '/srv/b=c'],
      'other-co': ['/x'],
    });
    expect(loadConfig({}).home_roots).toEqual({});
  });

  it.each(['10.0.0.53', '10.0.0.53:5353', 'fd00::53', '[fd00::53]:5353'])(
    'takes %s for a name server',
    (text) => expect(loadConfig({ SERVICE_REMOTE_EGRESS_DNS_ADDR: text }).remote_egress_dns_addr).toBe(text),
  );

  it('names all malformed variables at once', () => {
    const error = problemsOf({ PORT: 'x', SERVICE_ROLE: 'y', SERVICE_TRUSTED_PROXIES: 'z' });
    expect(error.variables.toSorted()).toEqual(['PORT', 'SERVICE_ROLE', 'SERVICE_TRUSTED_PROXIES']);
    for (const name of error.variables) expect(error.message).toContain(`\n  ${name}: `);
  });

  it('never repeats a malformed secret', () => {
    const wrong = {
      SERVICE_ENCRYPTION_KEY: 'hunter2-key',
      DATABASE_URL: 'postgres://u:hunter2%@db',
      SERVICE_BOOTSTRAP_ADMIN_PASSWORD: 'hunter2',
    };
    expect(problemsOf(wrong).message).not.toContain('hunter2');
  });

  it.each([
    [{ SERVICE_BOOTSTRAP_ADMIN_EMAIL: 'a@b.c' }, 'SERVICE_BOOTSTRAP_ADMIN_PASSWORD'],
    [{ SERVICE_BOOTSTRAP_ADMIN_PASSWORD: 'long enough' }, 'SERVICE_BOOTSTRAP_ADMIN_EMAIL'],
    [{ DATABASE_DIRECT_URL: 'postgres://db/x' }, 'DATABASE_URL'],
    [{ SERVICE_DEFAULT_LLM_PROVIDER: 'family_compat' }, 'SERVICE_DEFAULT_LLM_BASE_URL'],
  ])('refuses %p without its counterpart', (env, missing) => {
    expect(problemsOf(env)).toMatchObject({
      variables: [missing],
      message: expect.stringContaining('must be set together with'),
    });
  });

  it.each(['', 'x', '-1', '101', '1e1', 'Infinity'])(
    'silently keeps a readiness threshold at its default for %p',
    (text) => {
      expect(
        loadConfig({ SERVICE_READYZ_DISK_PCT: text, SERVICE_READYZ_POOL_UTILIZATION_PCT: text }),
      ).toMatchObject({
        readyz_disk_pct: 90,
        readyz_pool_utilization_pct: 90,
      });
    },
  );

  it('disables the backup check only by that very word', () => {
    const checks = ['disable', 'false', 'off'].map(
      (text) => loadConfig({ SERVICE_READYZ_BACKUP_CHECK: text }).readyz_backup_check,
    );
    expect(checks).toEqual(['disable', 'enable', 'enable']);
  });

  it.each(['https://id.example/', 'https://id.example/realm/', 'http://127.0.0.1:8080', 'http://[::1]:80/x'])(
    'accepts %s as an issuer',
    (issuer) => {
      const env = {
        SERVICE_OIDC_ISSUER: issuer,
        SERVICE_OIDC_CLIENT_ID: 'id',
        SERVICE_OIDC_CLIENT_SECRET: 'secret',
      };
      expect(loadConfig(env).oidc_issuer).toBe(issuer.replace(/\.example\/$/, '.example'));
    },
  );

  it.each([
    'http://id.example',
    'http://localhost.example',
    'http://10.0.0.1',
    'ftp://localhost',
    'id.example',
  ])('refuses %s as an issuer', (issuer) => {
    expect(problemsOf({ SERVICE_GOOGLE_ISSUER: issuer }).variables).toEqual(['SERVICE_GOOGLE_ISSUER']);
    expect(problemsOf({ SERVICE_GITHUB_API_URL: issuer }).variables).toEqual(['SERVICE_GITHUB_API_URL']);
  });

  it('demands the whole client of a sign-in provider', () => {
    expect(problemsOf({ SERVICE_GITHUB_CLIENT_ID: 'id' }).variables).toEqual([
      'SERVICE_GITHUB_CLIENT_SECRET',
    ]);
    expect(problemsOf({ SERVICE_OIDC_CLIENT_SECRET: 's' }).variables).toEqual(['SERVICE_OIDC_CLIENT_ID']);
    expect(problemsOf({ SERVICE_OIDC_ISSUER: 'https://id.example' }).variables).toEqual([
      'SERVICE_OIDC_CLIENT_ID',
    ]);
  });

  it('lists unknown SERVICE_ variables, and those alone, for a warning', () => {
    const env = { SERVICE_ROLL: 'web', SERVICE_A: '1', SERVICE_EMPTY: '', PATH: '/bin', MY_SERVICE_X: '1' };
    expect(loadConfig(env).unknown_variables).toEqual(['SERVICE_A', 'SERVICE_ROLL']);
  });
});

describe('what is derived from the schema', () => {
  it('describes every variable, with a default that it would accept', () => {
    const reference = configReference();
    expect(reference.length).toBe(Object.keys(loadConfig({})).length - 1);
    for (const { name, type, default: fallback, description } of reference) {
      expect(name).toMatch(/^[A-Z0-9_]+$/);
      expect(type).not.toBe('');
      expect(description).toMatch(/^\S.*\.$/);
      expect(fallback).not.toBe('');
    }
    // Some defaults are words for humans, or the value of another variable.
    const names = new Set(['unset', ...reference.map(({ name }) => name)]);
    const plain = reference.filter((row) => !/[ <]/.test(row.default) && !names.has(row.default));
    expect(() => loadConfig(Object.fromEntries(plain.map((row) => [row.name, row.default])))).not.toThrow();
  });

  it('finds the secrets of an environment, each key and the password of a URL too', () => {
    const env = {
      PORT: '1',
      DATABASE_URL: 'postgres://u:pass%20word@db/x',
      SERVICE_ENCRYPTION_KEY_PREVIOUS: 'one, two',
      SERVICE_METRICS_TOKEN: 'token',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20key,authorization=Bearer%20b',
    };
    expect(configSecrets(env).toSorted()).toEqual(
      [
        'postgres://u:pass%20word@db/x',
        'pass%20word',
        'pass word',
        'one',
        'two',
        'token',
        'x-key=a%20key,authorization=Bearer%20b',
        'a key',
        'Bearer b',
      ].toSorted(),
    );
    expect(configSecrets({})).toEqual([]);
  });

  it('says dev for version and commit of an unstamped build', () => {
    expect(serviceVersion()).toEqual({ version: 'dev', commit: 'dev' });
    expect(loadConfig({ SERVICE_BUILD_VERSION: '5.0.2', SERVICE_BUILD_COMMIT: 'abc' })).toMatchObject({
      build_version: '5.0.2',
      build_commit: 'abc',
    });
  });
});

describe('headers for a collector', () => {
  it('are read as its libraries do; what is wrong is named by its place, never by its text', () => {
    const { otel_exporter_otlp_headers: headers } = loadConfig({
      OTEL_EXPORTER_OTLP_HEADERS: 'X-Key=a%20key, authorization=Bearer%20x',
    });
    expect(headers).toEqual({ 'x-key': 'a key', authorization: 'Bearer x' });
    expect(() => loadConfig({ OTEL_EXPORTER_OTLP_HEADERS: 'good=1,topsecret' })).toThrow('entry 2 is none');
    expect(() => loadConfig({ OTEL_EXPORTER_OTLP_HEADERS: 'good=1,topsecret' })).not.toThrow('topsecret');
  });
});

describe('mail and channels', () => {
  const mail = { SERVICE_SMTP_URL: 'smtp://user:p%40ss@mail.example.com:587' };
  it('are set as a whole or refused', () => {
    expect(loadConfig({ ...mail, SERVICE_MAIL_FROM: 'Harbour <a@b.example>' })).toMatchObject({
      mail_from: 'Harbour <a@b.example>',
    });
    for (const [env, says] of [
      [mail, 'SERVICE_MAIL_FROM: must be set together with SERVICE_SMTP_URL'],
      [{ SERVICE_ALERT_WEBHOOK_URL: 'https://x.example' }, 'SERVICE_ALERT_WEBHOOK_SECRET: must be set'],
      [{ SERVICE_ALERT_TELEGRAM_TOKEN: '1:a' }, 'SERVICE_ALERT_TELEGRAM_CHAT: must be set'],
      [{ SERVICE_SMTP_URL: 'https://mail.example.com' }, 'must be an smtp:// or smtps:// URL'],
      [{ SERVICE_MAIL_FROM: 'a@b.example\r\nBcc: c@d.example' }, 'SERVICE_MAIL_FROM: must be an email'],
      [{ SERVICE_ALERT_MAIL_TO: 'a@b.example,nobody' }, '"nobody" is none'],
    ] as const)
      expect(() => loadConfig(env)).toThrow(says);
  });
});

describe('a URL', () => {
  it('whose name or password the driver could not decode is refused under its own name', () => {
    for (const part of ['p%e2ss', 'p%zzss', 'p%']) {
      expect(() => loadConfig({ DATABASE_URL: `postgres://u:${part}@db.example/acp` })).toThrow(
        'DATABASE_URL: must be a postgres:// URL: % in a name or password is written %25',
      );
      expect(() => loadConfig({ SERVICE_SMTP_URL: `smtp://u:${part}@mail.example` })).toThrow('%25');
    }
    expect(() => loadConfig({ DATABASE_URL: 'postgres://u:p@db.example/a%e2b' })).toThrow('DATABASE_URL');
    const encoded = 'postgres://u:p%C3%A9%25@db.example/acp';
    expect(loadConfig({ DATABASE_URL: encoded }).database_url).toBe(encoded);
  });

  it.each(['http://control.example/?', 'http://control.example/#', 'http://control.example/a?b'])(
    'to which paths are appended has no query, not even an empty one: %s',
    (url) => {
      expect(() => loadConfig({ SERVICE_PUBLIC_URL: url })).toThrow('without a query or fragment');
    },
  );
});

describe('a bucket', () => {
  it.each(['SERVICE_STORAGE', 'SERVICE_BACKUP_STORE'])('that %s asks for is named', (variable) => {
    expect(() => loadConfig({ [variable]: 's3' })).toThrow(
      `SERVICE_S3_BUCKET: must be set together with ${variable}`,
    );
    expect(loadConfig({ [variable]: 's3', SERVICE_S3_BUCKET: 'files' }).s3_bucket).toBe('files');
  });
});
