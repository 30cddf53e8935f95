/**
 * Dialogs of consent managers. They have the ids and classes of the managers' scripts, but not their code. `$bar` is the position of
 * the dialog, `$dim` dims the page, and `$no` is the action of the reject button.
 */
export const consentDialogs: Readonly<Record<string, string>> = {
  onetrust: `<div id="onetrust-consent-sdk"><div class="onetrust-pc-dark-filter" $dim></div>
    <div id="onetrust-banner-sdk" $bar>We use cookies. <button id="onetrust-accept-btn-handler">Accept all</button>
    <button id="onetrust-reject-all-handler" $no>Reject all</button></div></div>`,
  cookiebot: `<div id="CybotCookiebotDialogBodyUnderlay" $dim></div>
    <div id="CybotCookiebotDialog" role="dialog" $bar>This website uses cookies.
    <button id="CybotCookiebotDialogBodyLevelButtonLevelOptinDeclineAll" $no>Deny</button>
    <button id="CybotCookiebotDialogBodyLevelButtonLevelOptinAllowAll">Allow all</button></div>`,
  quantcast: `<div id="qc-cmp2-container"><div id="qc-cmp2-main"><div class="qc-cmp-cleanslate" $dim></div>
    <div id="qc-cmp2-ui" $bar>We value your privacy <div class="qc-cmp2-summary-buttons">
    <button mode="secondary">MORE OPTIONS</button><button mode="secondary" $no>DISAGREE</button><button mode="primary">AGREE</button></div></div></div></div>`,
  usercentrics: `<div id="usercentrics-root"><template shadowrootmode="open"><div data-testid="uc-container" $dim></div>
    <div $bar>We need your consent <button data-testid="uc-deny-all-button" $no>Deny</button>
    <button data-testid="uc-accept-all-button">Accept All</button></div></template></div>`,
  didomi: `<div id="didomi-host"><div id="didomi-popup" $dim></div><div id="didomi-notice" $bar>Our partners and we use cookies.
    <button id="didomi-notice-disagree-button" $no>Disagree</button><button id="didomi-notice-agree-button">Agree</button></div></div>`,
  trustarc: `<div class="truste_overlay" $dim></div><div id="truste-consent-track" class="truste_box_overlay" $bar>
    <div id="truste-consent-text">This site uses cookies.</div><button id="truste-consent-required" $no>Required only</button>
    <button id="truste-consent-button">Agree and proceed</button></div>`,
  cookieyes: `<div class="cky-overlay" $dim></div><div class="cky-consent-container" $bar><div class="cky-consent-bar">We value your privacy and use cookies.
    <button class="cky-btn cky-btn-reject" $no>Reject All</button><button class="cky-btn cky-btn-accept">Accept All</button></div></div>`,
  complianz: `<div id="cmplz-cookiebanner-container"><div class="cmplz-cookiebanner cmplz-show" $bar>Manage cookie consent
    <button class="cmplz-btn cmplz-accept">Accept</button><button class="cmplz-btn cmplz-deny" $no>Deny</button></div></div>`,
  iubenda: `<div id="iubenda-cs-banner" class="iubenda-cs-overlay" $bar><div class="iubenda-cs-container">We and third parties use cookies.
    <button class="iubenda-cs-reject-btn" $no>Reject</button><button class="iubenda-cs-accept-btn">Accept</button></div></div>`,
  osano: `<div class="osano-cm-window"><div class="osano-cm-dialog osano-cm-dialog--type_bar" role="dialog" $bar>This site utilizes cookies.
    <button class="osano-cm-button osano-cm-denyAll" $no>Reject Non-Essential</button><button class="osano-cm-button osano-cm-accept-all">Accept</button></div></div>`,
  termly: `<div id="termly-code-snippet-support"><div class="t-consentPrompt" role="alertdialog" $bar>We use cookies to improve your experience.
    <button data-tid="banner-decline" $no>Decline</button><button data-tid="banner-accept">Accept</button></div></div>`,
  klaro: `<div id="klaro"><div class="klaro"><div class="cookie-notice" role="dialog" $bar>Hi! Could we please enable some additional services for cookies?
    <button class="cm-btn cn-decline" $no>I decline</button><button class="cm-btn cm-btn-success">That's ok</button></div></div></div>`,
  borlabs: `<div id="BorlabsCookieBox"><div class="_brlbs-block-content" $dim></div><div class="_brlbs-box-wrap" role="dialog" $bar>Wir benötigen Ihre Zustimmung zu Cookies.
    <a class="_brlbs-btn _brlbs-refuse-btn" role="button" $no>Nur essenzielle Cookies akzeptieren</a><a class="_brlbs-btn-accept-all" role="button">Alle akzeptieren</a></div></div>`,
  consentmanager: `<div id="cmpwrapper" class="cmpwrapper"><template shadowrootmode="open"><div id="cmpbox2" class="cmpboxBG" $dim></div>
    <div id="cmpbox" class="cmpbox cmpstyleroot" role="dialog" $bar>Welcome! We use cookies.
    <a id="cmpwelcomebtnno" class="cmpboxbtnno" role="button" $no>Reject</a><a class="cmpboxbtn cmpboxbtnyes" role="button">Accept</a></div></template></div>`,
  axeptio: `<div id="axeptio_overlay"><template shadowrootmode="open"><div $bar>Cookies? We'd like to know your preferences.
    <button id="axeptio_btn_dismiss" $no>No, thanks</button><button id="axeptio_btn_acceptAll">OK for me</button></div></template></div>`,
  'cookie information': `<div id="coiOverlay" $dim></div><div id="coi-banner-wrapper" role="alertdialog" $bar>We use cookies.
    <button class="coi-banner__decline" id="coi-decline" $no>Decline all</button><button class="coi-banner__accept">Accept all</button></div>`,
  'funding choices': `<div class="fc-consent-root"><div class="fc-dialog-overlay" $dim></div><div class="fc-dialog-container" $bar>
    <div class="fc-dialog fc-choice-dialog" role="dialog">site.test asks for your consent to use your personal data
    <button class="fc-button fc-cta-consent">Consent</button><button class="fc-button fc-cta-do-not-consent" $no>Do not consent</button></div></div></div>`,
  hubspot: `<div id="hs-eu-cookie-confirmation" $bar>This website stores cookies on your computer.
    <button id="hs-eu-confirmation-button">Accept</button><button id="hs-eu-decline-button" $no>Decline</button></div>`,
  'custom, without a reject button': `<div class="x1f" $dim></div><div class="x2f" $bar><p>Diese Website verwendet Cookies. Mehr dazu in der Datenschutzerklärung.</p>
    <button>Alle akzeptieren</button><button>Einstellungen</button></div>`,
  'custom, in a dialog element': `<dialog id="ask" $bar>Nous utilisons des cookies. <button>Tout accepter</button></dialog><script>ask.showModal()</script>`,
  'custom, in a custom element': `<cookie-consent><template shadowrootmode="open"><div $bar>We use cookies on this site.
    <button>Got it</button></div></template></cookie-consent>`,
};
