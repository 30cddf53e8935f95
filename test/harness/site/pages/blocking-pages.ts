import { assets } from '../assets.ts';
import type { Routes } from '../exchange.ts';

/** Pages with content that `block` removes. */
export const blockingPages = {
  /** Video and audio, by element and by script. */
  '/media': (exchange) => {
    const media = (type: string, n: number) => exchange.link('/asset/media', { type, n });
    exchange.page(
      `<style>body{background:#00ff00}</style>
      <video src="${media('video/mp4', 1)}" autoplay muted width="20" height="20"></video>
      <audio src="${media('audio/wav', 2)}" autoplay preload="auto"></audio>
      <video preload="auto" width="20" height="20"><source src="${media('video/webm', 3)}" type="video/webm"></video>
      <script>new Audio(${JSON.stringify(exchange.address('/asset/media', { type: 'audio/wav', n: 4 }))}).load();</script>
      <img src="${exchange.link('/asset/image')}">`,
    );
  },

  /** A consent banner like that of a well-known provider, over a green page. It closes when its button is pressed. */
  '/consent': (exchange) =>
    exchange.page(
      `<style>body{background:#00ff00}#onetrust-consent-sdk{position:fixed;left:0;right:0;bottom:0;height:200px;background:#ff0000}</style>
      <div id="onetrust-consent-sdk"><div id="onetrust-banner-sdk" class="otFlat bottom" role="dialog">
        <p id="onetrust-policy-text">We value your privacy</p>
        <div id="onetrust-button-group">
          <button id="onetrust-pc-btn-handler">Settings</button>
          <button id="onetrust-reject-all-handler">Reject all</button>
          <button id="onetrust-accept-btn-handler">Accept all</button>
        </div></div></div>
      <script>
      for (const id of ['onetrust-reject-all-handler', 'onetrust-accept-btn-handler']) {
        document.getElementById(id).addEventListener('click', () => {
          document.cookie = 'OptanonAlertBoxClosed=' + new Date().toISOString();
          document.getElementById('onetrust-consent-sdk').remove();
        });
      }
      </script>`,
    ),

  /** Resources that filter lists contain, and one that they do not; from another host, like advertising. */
  '/advertising': (exchange) => {
    const from = exchange.text('from') || exchange.origin;
    const there = (path: string) => `${from}${exchange.link(path)}`;
    exchange.page(
      `<style>body{background:#00ff00}</style>
      <script async src="${there('/pagead/js/adsbygoogle.js')}"></script>
      <script async src="${there('/google-analytics.com/analytics.js')}"></script>
      <img src="${there('/asset/image')}"><img src="${there('/test-banner.png')}"><img src="${there('/test-counter.png')}">
      <div class="test-advertisement" style="position:absolute;left:0;top:300px;width:100px;height:100px;background:#0000ff"></div>`,
    );
  },
  '/test-banner.png': assets['/asset/image'],
  '/test-counter.png': assets['/asset/image'],
  '/pagead/js/adsbygoogle.js': (exchange) =>
    exchange.send('text/javascript', 'document.body.style.background = "#ff0000"'),
  '/google-analytics.com/analytics.js': (exchange) => exchange.send('text/javascript', ''),
} satisfies Routes;
