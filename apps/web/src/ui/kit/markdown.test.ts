import { describe, expect, it } from '@jest/globals';
import { markdown } from './markdown.ts';

describe('markdown', () => {
  it('renders what people write', () => {
    expect(markdown('**bold** and `code`\n\n- one\n- two')).toBe(
      '<div class="markdown"><p><strong>bold</strong> and <code>code</code></p>\n<ul>\n<li>one</li>\n<li>two</li>\n</ul>\n</div>',
    );
    expect(markdown('see https://example.com')).toContain(
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
    '<svg/onload=alert(1)>',
    '<a href="vbscript:x">y</a>',
    '```"><script>alert(1)</script>\ncode\n```',
    '<style>body{display:none}</style>',
    '[x]: javascript:alert(1)\n\n[x]',
    '<iframe srcdoc="<script>alert(1)</script>">',
    '**<b onclick=alert(1)>x</b>**',
  ])('makes nothing that runs or loads of %j', (text) => {
    const html = markdown(text);
    expect(html).not.toMatch(/<(?:script|svg|iframe|style|b)\b/i);
    expect(html).not.toMatch(/<[^>]+\son\w+=/i);
    expect(html).not.toMatch(/<[^>]+(?:href|src)="(?!https?:|mailto:|data:image)/i);
    expect(html).not.toMatch(/<img[^>]+src="https?:/i);
  });

  it('shows a text that is too long as it is', () => {
    expect(markdown('# x\n'.repeat(60_000))).toMatch(/^<pre># x\n/);
  });
});
