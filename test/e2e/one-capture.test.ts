import { expect, test } from 'vitest';
import { serve } from '../harness/static-site.ts';
import { useFleet } from '../harness/use.ts';

// A front, a controller, a renderer with Chromium, and nats-server, which also stores the files: the processes that `npm start`
// starts.
const fleet = useFleet({ store: 'embedded' });

const page = `
  <style>
    body { margin: 0; background: #ffffff }
    div { width: 100px; height: 100px; background: #ff0000 }
  </style>
  <div></div>`;

test('a page becomes a picture with exactly its pixels', async () => {
  await using site = await serve((_, response) => response.setHeader('content-type', 'text/html').end(page));

  // Sends POST /capture, and downloads the file at the `fileUrl` of the response.
  const { data, picture } = await fleet().api.picture({ url: site.url, viewport: { width: 300, height: 200 } });

  expect(data.metadata).toMatchObject({ url: site.url, format: 'png', width: 300, height: 200 });
  expect(picture.size).toBe('300x200');
  expect([picture.at(0, 0), picture.at(99, 99)]).toEqual(['#ff0000', '#ff0000']);
  expect([picture.at(100, 99), picture.at(99, 100), picture.at(299, 199)]).toEqual(['#ffffff', '#ffffff', '#ffffff']);
});
