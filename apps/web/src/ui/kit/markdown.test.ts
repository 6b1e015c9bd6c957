import { describe, expect, it } from '@jest/globals';
import { waitFor } from '@acp/testkit';
import { MarkdownRenderer } from './markdown-renderer.ts';
import { markdown } from './markdown.ts';
import { type Rendered, TextThread } from './text-thread.ts';
import { renderMarkdown } from './render-markdown.ts';

describe('markdown', () => {
  it('renders what people write', () => {
    expect(renderMarkdown('**bold** and `code`\n\n- one\n- two')).toBe(
      '<div class="markdown"><p><strong>bold</strong> and <code>code</code></p>\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n</div>',
    );
    expect(renderMarkdown('see https://example.com')).toContain(
      '<a href="https://example.com" rel="noopener noreferrer nofollow">',
    );
    expect(markdown(null)).toBe('');
  });

  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](data:text/html;base64,PHNjcmlwdD4=)',
    '![x](javascript:alert(1))',
    '![x](https://tracker.example/pixel.png)',
    '![x](/companies)',
    '![x](/api/companies/5b0f6c1e-8a2d-4c3b-9e7f-1a2b3c4d5e6f/export?include=issues)',
    '![x](/api/attachments/5b0f6c1e-8a2d-4c3b-9e7f-1a2b3c4d5e6f/download?again=1)',
    '![x](/api/attachments/../attachments/5b0f6c1e-8a2d-4c3b-9e7f-1a2b3c4d5e6f/download)',
    '![x](export.json)',
    '<svg/onload=alert(1)>',
    '<a href="vbscript:x">y</a>',
    '```"><script>alert(1)</script>\ncode\n```',
    '<style>body{display:none}</style>',
    '[x]: javascript:alert(1)\n\n[x]',
    '<iframe srcdoc="<script>alert(1)</script>">',
    '**<b onclick=alert(1)>x</b>**',
  ])('makes nothing that runs or loads of %j', (text) => {
    const html = renderMarkdown(text);
    expect(html).not.toMatch(/<(?:script|svg|iframe|style|b)\b/i);
    expect(html).not.toMatch(/<[^>]+\son\w+=/i);
    expect(html).not.toMatch(/<[^>]+(?:href|src)="(?!https?:|mailto:|data:image)/i);
    expect(html).not.toMatch(/<img[^>]+src="https?:/i);
  });
});

describe('images', () => {
  const id = '5b0f6c1e-8a2d-4c3b-9e7f-1a2b3c4d5e6f';

  it('are those that were attached, and are loaded when they come into sight', () => {
    for (const path of [`/api/attachments/${id}/download`, `/api/chats/${id}/attachments/${id}/download`])
      expect(renderMarkdown(`![a plan](${path})`)).toContain(
        `<img src="${path}" loading="lazy" alt="a plan" />`,
      );
    expect(renderMarkdown('![dot](data:image/png;base64,iVBORw0KGgo=)')).toContain(
      '<img src="data:image/png',
    );
  });

  it('of a page are few, however many texts name however many: of the others the descriptions stay', async () => {
    // Short enough to be rendered at once: a thread may start too late for a page.
    const text = (from: number) =>
      Array.from({ length: 35 }, (_, n) => `![image ${from + n}](/api/attachments/${id}/download)`).join(' ');
    const page = `${markdown(text(0))}${markdown(text(35))}`;
    const html = await new MarkdownRenderer().finish(page);
    expect(html.match(/<img src=/g)).toHaveLength(50);
    expect(html.match(/<img /g)).toHaveLength(70);
    expect(html).toContain('<img loading="lazy" alt="image 69" />');
  });
});

describe('Markdown as GitHub has it', () => {
  it('has tables with their sides, boxes of tasks, struck words and code in colours', () => {
    const table = renderMarkdown('| a | b |\n|---|--:|\n| 1 | 2 |');
    expect(table).toContain('<th class="align-right">b</th>');
    const tasks = renderMarkdown('- [x] written\n- [ ] read\n- [y] neither');
    expect(tasks.match(/<li class="task"><input type="checkbox" disabled/g)).toHaveLength(2);
    expect(tasks).toContain('<li>[y] neither</li>');
    expect(renderMarkdown('~~gone~~')).toContain('<s>gone</s>');
    const code = renderMarkdown('```js\nconst x = "<b>";\n```');
    expect(code).toContain('<span class="hljs-keyword">const</span>');
    expect(code).toContain('&lt;b&gt;');
    expect(renderMarkdown('```nolanguage\nconst\n```')).not.toContain('hljs');
  });

  it('makes links of what looks like a name outside of code, links and addresses', () => {
    const named = renderMarkdown(
      'ABC-12 and @Ada-Byron, `ABC-13`, a@b.de, [ABC-14](https://x.example), x/ABC-15',
    );
    const names = [...named.matchAll(/class="ref" href="([^"]*)"/g)].map(([, href]) => href);
    expect(names).toEqual(['/refs/ABC-12', '/refs/%40Ada-Byron']);
  });
});

describe('the texts of a page', () => {
  const finish = async (page: string) => new MarkdownRenderer().finish(page);
  const marks = (length: number) => '- a\n'.repeat(length / 4);

  it('stand rendered where the template put them, and nothing of the marks is left', async () => {
    const page = `<p>${markdown('*a*')}|${markdown(null)}|${markdown('b', '/b')}</p>`;
    expect(await finish(page)).toBe(
      '<p><div class="markdown"><p><em>a</em></p>\n</div>||<div class="markdown"><p>b</p>\n</div></p>',
    );
    expect(await finish('<p>no text</p>')).toBe('<p>no text</p>');
  });

  it('that hold what looks like a mark stay one text', async () => {
    expect(await finish(`${markdown('a\0/x\0b')}c\0d\0`)).toBe(
      '<div class="markdown"><p>a/xb</p>\n</div>c\0d\0',
    );
  });

  it('of more than a few kilobytes are rendered by the thread, each once, alike', async () => {
    const renderer = new MarkdownRenderer();
    const text = `# Title\n\n${'words and **more**. '.repeat(2000)}`;
    const rendered = renderMarkdown(text);
    const page = markdown(text) + markdown(text, '/again');
    // On a busy machine the thread may start too late for the first page.
    await waitFor(async () => (await renderer.finish(page)) === rendered + rendered, { what: 'the thread' });
    expect(await renderer.finish(page)).toBe(rendered + rendered);
  });

  it('beyond what a page shows are folded, the longest first, behind a link to each', async () => {
    const texts = Array.from({ length: 30 }, (_each, at) => markdown(marks(180_000), `/long/${at}`));
    const renderer = new MarkdownRenderer();
    // A page waits only for a limited time, and a busy machine is slow to start the thread: make sure it is running.
    const first = markdown('*once* '.repeat(2000));
    await waitFor(async () => (await renderer.finish(first)).includes('<em>'), { what: 'the thread' });
    const page = await renderer.finish(
      `${texts.join('')}${markdown('short', '/short')}${markdown('no *page*')}`,
    );
    expect(page).toContain('<p>short</p>');
    expect(page).toContain('<em>page</em>');
    expect(page).toContain('data-text="/long/0"');
    expect(page.split('data-text=').length - 1).toBeGreaterThanOrEqual(28);
    expect(page.length).toBeLessThan(2_000_000);
  });

  it('that are too long to render are shown as they are, or folded where they have a page', async () => {
    const long = '# <x>\n'.repeat(60_000);
    expect(await finish(markdown(long))).toMatch(/^<pre># &#60;x&#62;\n/);
    expect(await finish(markdown(long, '/long'))).toContain('data-text="/long"');
  });
});

describe('the thread', () => {
  it('renders short texts before long ones, and gives up what nobody waits for', async () => {
    const thread = new TextThread({ limit_ms: 60_000 });
    const { signal } = new AbortController();
    const order: string[] = [];
    const done = (name: string) => (html: Rendered) => void order.push(`${name} ${typeof html}`);
    const gone = new AbortController();
    const all = [
      thread.render('*first*'.repeat(10_000), signal).then(done('first')),
      thread.render('long '.repeat(20_000), signal).then(done('long')),
      thread.render('short', signal).then(done('short')),
      thread.render('gone', gone.signal).then(done('gone')),
    ];
    gone.abort();
    await Promise.all(all);
    expect(order).toEqual(['gone undefined', 'first string', 'short string', 'long string']);
  });

  it('gives up a text that takes too long, and goes on with the next', async () => {
    const thread = new TextThread({ limit_ms: 1 });
    const { signal } = new AbortController();
    expect(await thread.render('- '.repeat(90).concat('\n').repeat(5000), signal)).toBeNull();
    const patient = new TextThread();
    expect(await patient.render('next', signal)).toContain('<p>next</p>');
  });
});
