import type { Site } from '../../harness/site/site.ts';

const heavy = `<!doctype html><body><script>
  const list = document.createElement('ul');
  for (let index = 0; index < 3000; index++) {
    const item = document.createElement('li');
    item.textContent = 'item ' + index + ' ' + Math.sqrt(index);
    item.style.color = 'hsl(' + (index % 360) + ' 80% 40%)';
    list.append(item);
  }
  document.body.append(list);
  window.kept = Array.from({ length: 200000 }, (_, index) => ({ index, text: 'x' + index }));
  setInterval(() => window.kept.push({ index: 0, text: '' }), 1);
</script>`;

/** A realistic mix of requests, in rotation: small and large pages, all formats, and some failures. */
export const mixOf = (site: Site): readonly object[] => [
  { html: '<p>tiny' },
  { url: site.url('/document', { n: 12 }), format: 'jpeg' },
  { html: heavy, format: 'jpeg' },
  { url: site.url('/tall', { h: 6000 }), isFullPage: true, format: 'jpeg' },
  { url: site.url('/document', { n: 12 }), format: 'pdf' },
  { url: site.url('/images', { list: 'ok,ok,ok,ok' }), format: 'png' },
  { url: site.url('/color'), format: 'webp', block: { ads: true, trackers: true, cookieBanners: true } },
  { url: site.url('/popups') },
  { url: site.url('/facts') },
  { url: site.url('/reset') },
];
