const mediaPath =
  /\.(?:mp4|m4v|m4s|m4a|m4b|cmfv|cmfa|webm|weba|ogv|oga|ogg|opus|mp3|aac|flac|wav|mov|mkv|avi|wmv|mpe?g|3gp|flv|f4v|m3u8|mpd)$/i;

const mediaType = /^\s*(?:audio|video)\/|^\s*application\/(?:(?:x-|vnd\.apple\.)?mpegurl|dash\+xml|ogg)\b/i;

/** Whether the path of an address ends like an audio or video file, or like the playlist of one. */
export function isMediaUrl(url: string): boolean {
  const pathname = URL.parse(url)?.pathname;
  return pathname !== undefined && mediaPath.test(pathname);
}

/** Whether a Content-Type is one of audio, video, or a playlist of such. */
export function isMediaContentType(contentType: string | undefined): boolean {
  return contentType !== undefined && mediaType.test(contentType);
}
