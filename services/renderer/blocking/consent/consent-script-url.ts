const consentScript =
  /consent|onetrust|otsdkstub|cookielaw|cookiebot|didomi|usercentrics|quantcast|\bcmp\b|cmp2|trustarc|truste|sourcepoint|privacy-mgmt|iubenda|osano|termly|axeptio|klaro|tarteaucitron|borlabs|complianz|gdpr|cookie-?(?:banner|law|script|yes|first|notice|bar|control|info|pro|hub|hint|popup|modal)/i;

/** Whether a script's address looks like that of a consent manager. (Not `js.cookie.js`, which many sites carry.) */
export function isConsentScript(url: string): boolean {
  const { host, pathname } = URL.parse(url) ?? { host: '', pathname: '' };
  return consentScript.test(host + pathname);
}
