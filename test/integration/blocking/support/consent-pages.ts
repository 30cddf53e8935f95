/** Pages that build the dialog of a consent manager as its script does, without using code of that script. */
const page = (body: string, head = '') => `<!doctype html><html><head><title>A page</title>
<style>.lock { overflow: hidden; height: 100%; } .layer { position: fixed; z-index: 9999; background: white; color: black; }</style>
${head}</head><body><h1>A page</h1><p>Text</p><div style="height: 3000px"></div>${body}</body></html>`;

/** The page cannot scroll while the dialog is open. */
const dialog = (
  script: string,
) => `const lock = (on) => { document.documentElement.classList.toggle('lock', on); document.body.classList.toggle('lock', on); };
const answer = (what) => { window.answer = what; lock(false); };
lock(true);
${script}`;

const opened = (script: string) => `<script>${dialog(script)}</script>`;

const bottom = 'left: 0; right: 0; bottom: 0; height: 220px';

/** The same page without a dialog. */
export const plainPage = page('');

export const onetrustScript = dialog(`document.body.insertAdjacentHTML('beforeend', \`<div id="onetrust-consent-sdk">
      <div class="onetrust-pc-dark-filter layer" style="inset: 0; background: #0009"></div>
      <div id="onetrust-banner-sdk" class="layer" style="${bottom}">We use cookies.
        <button id="onetrust-accept-btn-handler" onclick="answer('accepted')">Accept all</button>
        <button id="onetrust-reject-all-handler">Reject all</button></div></div>\`);
    document.getElementById('onetrust-reject-all-handler').onclick = () => {
      document.getElementById('onetrust-consent-sdk').remove(); answer('rejected'); };`);

export const consentPages = {
  onetrust: page(`<script>${onetrustScript}</script>`),
  cookiebot: page(
    opened(`document.body.insertAdjacentHTML('beforeend', \`<div id="CybotCookiebotDialogBodyUnderlay" class="layer" style="inset: 0; background: #0009"></div>
      <div id="CybotCookiebotDialog" class="layer" role="dialog" style="${bottom}">This website uses cookies.
        <button id="CybotCookiebotDialogBodyLevelButtonLevelOptinDeclineAll">Deny</button>
        <button id="CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll" onclick="answer('accepted')">Allow all</button></div>\`);
    window.Cookiebot = { hasResponse: false, declined: false, dialog: { visible: true } };
    document.getElementById('CybotCookiebotDialogBodyLevelButtonLevelOptinDeclineAll').onclick = () => {
      Object.assign(Cookiebot, { hasResponse: true, declined: true, dialog: null });
      document.getElementById('CybotCookiebotDialog').remove();
      document.getElementById('CybotCookiebotDialogBodyUnderlay').remove(); answer('rejected'); };`),
  ),
  quantcast: page(
    opened(`document.body.insertAdjacentHTML('beforeend', \`<div id="qc-cmp2-container"><div id="qc-cmp2-main">
      <div class="qc-cmp-cleanslate layer" style="inset: 0; background: #0009">
      <div id="qc-cmp2-ui" class="layer" style="${bottom}">We value your privacy
        <div class="qc-cmp2-summary-buttons"><button mode="secondary">MORE OPTIONS</button>
        <button mode="secondary">DISAGREE</button><button mode="primary" onclick="answer('accepted')">AGREE</button></div></div></div></div></div>\`);
    document.querySelector('.qc-cmp2-summary-buttons > button:nth-of-type(2)').onclick = () => {
      document.getElementById('qc-cmp2-container').remove(); answer('rejected'); };`),
  ),
  usercentrics: page(
    opened(`const host = Object.assign(document.createElement('div'), { id: 'usercentrics-root' });
    document.body.append(host);
    host.attachShadow({ mode: 'open' }).innerHTML = \`<div data-testid="uc-container" style="position: fixed; inset: 0; background: #0009">
      <div style="position: fixed; ${bottom}; background: white">We need your consent
      <button data-testid="uc-deny-all-button">Deny</button><button data-testid="uc-accept-all-button">Accept All</button></div></div>\`;
    window.UC_UI = { isInitialized: () => true };
    host.shadowRoot.querySelector('[data-testid=uc-deny-all-button]').onclick = () => { host.remove(); answer('rejected'); };
    host.shadowRoot.querySelector('[data-testid=uc-accept-all-button]').onclick = () => answer('accepted');`),
  ),
  didomi: page(
    opened(`document.body.insertAdjacentHTML('beforeend', \`<div id="didomi-host"><div id="didomi-popup" class="layer" style="inset: 0; background: #0009">
      <div id="didomi-notice" class="layer" style="${bottom}">Our partners and we use cookies.
        <button id="didomi-notice-disagree-button">Disagree</button>
        <button id="didomi-notice-agree-button" onclick="answer('accepted')">Agree</button></div></div></div>\`);
    document.getElementById('didomi-notice-disagree-button').onclick = () => {
      document.getElementById('didomi-host').remove(); answer('rejected'); };`),
  ),
  /** A dialog without a rule or a reject button, with a backdrop. */
  homemade: page(
    opened(`document.body.insertAdjacentHTML('beforeend', \`<div class="x1f layer" style="inset: 0; background: #0009"></div>
      <div class="x2f layer" style="${bottom}"><p>Diese Website verwendet Cookies. Mehr dazu in der Datenschutzerklärung.</p>
      <button onclick="answer('accepted')">Alle akzeptieren</button><button>Einstellungen</button></div>\`);`),
  ),
  /** A dialog in a frame of another site, as from Sourcepoint, unknown to the page. */
  framed: page(
    opened(
      `addEventListener('message', ({ data }) => { if (data === 'gone') { document.getElementById('sp_message_container_1').remove(); answer('rejected'); } });`,
    ) +
      `<div id="sp_message_container_1" class="layer" style="inset: 0"><iframe id="sp_message_iframe_1" style="width: 100%; height: 100%"
      src="http://cdn.consent-frame.test:$PORT/index.html?message_id=1&consent_origin=x"></iframe></div>`,
  ),
};

export const consentFrame = `<!doctype html><html><body><div class="message"><p>We and our partners use cookies</p>
<button class="message-component message-button sp_choice_type_11" onclick="parent.postMessage('accepted', '*')">Accept</button>
<button class="message-component message-button sp_choice_type_13" title="Reject" onclick="parent.postMessage('gone', '*')">Reject all</button></div></body></html>`;
