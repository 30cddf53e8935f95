import { expect, test } from 'vitest';
import { refusedInTemplate } from '../../../services/front/capture/template-rules.ts';

const svg = "<svg xmlns='http://www.w3.org/2000/svg'><rect width='9' height='9' fill='url(#a)'/></svg>";

test.each([
  '',
  'page <span class="pageNumber"></span> of <span class=totalPages></span>',
  '<style>#header { padding: 0 } b::after { content: "a > b" }</style><!-- a comment --><b title="1 > 0">x</b><br/>',
  `<img src="data:image/svg+xml,${svg}" width=9><IMG SRC='data:image/png;base64,iVBORw0KGgo='>`,
  '<svg viewBox="0 0 9 9"><use href="#a"/><image xlink:href="data:image/png,x"/><rect fill="url(#b)"/></svg>',
  '<p style="background:url(&quot;data:image/png,x&quot;)">x</p>',
  '<html><head><meta charset="utf-8"><META CHARSET=utf-8 /></head><body>x</body></html>',
  '<a href="https://example.com/?on=1">x</a><a href=mailto:a@example.com>x</a><a href="tel:1">x</a><a href="#top">x</a>',
  String.raw`<style>b::after { content: "\201c \110000" } .a\:b { mask: u\72l(data:image/png,x) }</style>`,
  'one = 1, <3, a < b, src = x, onload="x"',
])('the template %s is accepted', (template) => {
  expect(refusedInTemplate(template)).toBeUndefined();
});

test.each([
  ['<script>x</script>', '<script>'],
  ['<a href="file:///a?https://example.com/">x</a>', 'href="file:///a?https://example.com/"'],
  ['<b></b><SCRIPT/src=x>', '<script>'],
  ['<!--><script>x</script>-->', '<script>'],
  ['<style></style><title><iframe srcdoc="x">', '<iframe>'],
  ['<svg><style><script>x</script>', '<script>'],
  ['<link rel=stylesheet href=data:,>', '<link>'],
  ['<meta http-equiv=refresh>', '<meta>, except for <meta charset>'],
  ['<meta charset=utf-8 http-equiv=refresh content="0;url=https://a.test/">', '<meta>, except for <meta charset>'],
  [
    '<style>@font-face { font-family: a; src: url(data:font/woff2;base64,AAAA) }</style>',
    '@font-face (name an installed font, or use an image)',
  ],
  [String.raw`<style>@font-f\61 ce { src: local(a) }</style>`, '@font-face (name an installed font, or use an image)'],
  ['<object data="x">', '<object>'],
  ['<svg><svg onload="x">', 'onload'],
  ['<svg/onload=x>', 'onload'],
  ['<svg title=">" onload=x>', 'onload'],
  ["<svg a='b'onload=x>", 'onload'],
  ['<svg =a onload=x>', 'onload'],
  ['<svg a= onload=x onerror=y>', 'onerror'],
  ['<svg a="b" \n ONLOAD\t=\f"x">', 'onload'],
  ['<svg a="b" / onload>', 'onload'],
  ['<svg a="unclosed onload=x', 'onload'],
  ['<b title="<svg onload=x>">', 'onload'],
  ['<a<svg onload=x>', 'a < inside of a tag (write &lt;)'],
  ['<a <svg onload=x>', 'a < inside of a tag (write &lt;)'],
  ['<a b=<svg onload=x>', 'a < inside of a tag (write &lt;)'],
  ['<img src=http://a.test/>', 'src="http://a.test/"'],
  ['<img src=file:///etc/passwd>', 'src="file:///etc/passwd"'],
  ['<img src="&#100;ata:x">', 'src="&#100;ata:x"'],
  ['<img srcset="/a.png 2x">', 'srcset="/a.png 2x"'],
  ['<img a=1 src=data:x><img src=/b>', 'src="/b"'],
  ['<a href="javascript:x">', 'href="javascript:x"'],
  ['<a href="java&#115;cript:x">', 'href="java&#115;cript:x"'],
  ['<a href="file:///etc/passwd">', 'href="file:///etc/passwd"'],
  ['<svg><use xlink:href="http://a.test/#b"></svg>', 'xlink:href="http://a.test/#b"'],
  ['<style>@IMPORT "http://a.test/";</style>', '@import'],
  ['<b style="background:url(http://a.test/)">', 'url(http://a.test/)'],
  ["<style>b { mask: URL( '//a.test/' ) }</style>", 'url(//a.test/)'],
  [String.raw`<style>@\69mport "http://a.test/";</style>`, '@import'],
  [String.raw`<style>@\000069 mport "http://a.test/";</style>`, '@import'],
  [String.raw`<style>@\import "http://a.test/";</style>`, '@import'],
  ['<style>p{background:image-set("http://a.test/" 1x)}</style>', 'image-set()'],
  ['<p style="background:-webkit-image-set(&quot;http://a.test/&quot; 1x)">', 'image-set()'],
  [String.raw`<style>b{mask:u\72l(http://a.test/m)}</style>`, 'url(http://a.test/m)'],
  [String.raw`<style>b{filter:\55\52 L(http://a.test/m#f)}</style>`, 'url(http://a.test/m#f)'],
  ['<b style="background:&#117;rl(http://a.test/)">', 'url(http://a.test/)'],
  ['<b style="background:ur&#x6C&lpar;http://a.test/)">', 'url(http://a.test/)'],
  ['<b style="background:u&bsol;72l(http://a.test/)">', 'url(http://a.test/)'],
])('the template %s is refused', (template, refused) => {
  expect(refusedInTemplate(template)).toBe(refused);
});

test.each(['<a/b=', '<a b="', "<a b='", '<a', '<a ', '<a\t/', '<', '<a =', 'url( ', `<a b="'`])(
  'a template of repeated %s is checked within a second',
  (piece) => {
    const start = performance.now();
    refusedInTemplate(piece.repeat(65_536 / piece.length));
    expect(performance.now() - start).toBeLessThan(1000);
  },
);
