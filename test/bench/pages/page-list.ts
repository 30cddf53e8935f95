/** Third-party pages in packages of an exact version, which npm fetches. */
export interface GalleryPackage {
  readonly specifier: string;
  readonly paths: readonly string[];
  /** Files that the pages need and the package does not contain, by path. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Replaces the script with which the tests of UIkit are built. */
const uikitTest =
  `document.write('<link rel="stylesheet" href="../dist/css/uikit.min.css"><script src="../dist/js/uikit.js"></' + 'script>` +
  `<script src="../dist/js/uikit-icons.js"></' + 'script>');\n`;

export const galleryPages: readonly GalleryPackage[] = [
  {
    specifier: 'uikit@3.25.29',
    paths: [
      '/tests/sticky-parallax.html',
      '/tests/scrollspy.html',
      '/tests/parallax.html',
      '/tests/slider.html',
      '/tests/height-viewport.html',
      '/tests/navbar.html',
    ],
    files: { '/tests/js/test.js': uikitTest },
  },
  { specifier: 'lax.js@1.2.5', paths: ['/docs/index.html', '/docs/demo.html'] },
  { specifier: 'startbootstrap-resume@7.0.6', paths: ['/dist/index.html'] },
  { specifier: 'startbootstrap-creative@7.0.7', paths: ['/dist/index.html'] },
  { specifier: 'startbootstrap-sb-admin@7.0.7', paths: ['/dist/index.html', '/dist/charts.html', '/dist/tables.html'] },
  { specifier: 'startbootstrap-sb-admin-2@4.1.4', paths: ['/index.html', '/charts.html', '/tables.html'] },
  { specifier: 'startbootstrap-simple-sidebar@6.0.6', paths: ['/dist/index.html'] },
  { specifier: 'soft-ui-dashboard@1.0.1', paths: ['/pages/dashboard.html', '/pages/profile.html'] },
  { specifier: 'material-dashboard@3.1.0', paths: ['/pages/dashboard.html', '/pages/sign-in.html'] },
  { specifier: 'material-kit@2.0.4', paths: ['/index.html', '/examples/landing-page.html'] },
  {
    specifier: '@creative-tim-official/argon-dashboard-free@1.2.0',
    paths: ['/index.html', '/examples/dashboard.html', '/examples/profile.html'],
  },
  { specifier: 'skrollr@0.6.26', paths: ['/index.html', '/examples/fixed_nav.html', '/examples/classic.html'] },
  { specifier: 'rellax@1.12.1', paths: ['/demo.html', '/tests/center.html'] },
  { specifier: 'scrollama@3.2.0', paths: ['/docs/sticky-overlay/index.html', '/docs/custom-offset/index.html'] },
  { specifier: 'pagepiling.js@1.5.6', paths: ['/examples/demoPage.html'] },
  { specifier: 'aos@2.3.4', paths: ['/demo/simple.html', '/demo/async.html'] },
  { specifier: 'wowjs@1.1.3', paths: ['/demo.html'] },
  { specifier: 'in-view@0.6.1', paths: ['/docs/index.html'] },
  { specifier: 'sticky-kit@1.1.3', paths: ['/test/index.html', '/test/two.html'] },
  { specifier: 'impress.js@1.1.0', paths: ['/index.html'] },
  { specifier: 'reveal.js@6.0.2', paths: ['/demo.html'] },
  { specifier: 'granim@2.0.0', paths: ['/docs/index.html', '/docs/examples.html'] },
  { specifier: 'particles.js@2.0.0', paths: ['/demo/index.html'] },
  { specifier: 'vanilla-tilt@1.8.1', paths: ['/test/index.html'] },
  { specifier: 'flickity@3.0.0', paths: ['/sandbox/jquery.html', '/sandbox/lazyload.html'] },
  { specifier: 'slick-carousel@1.8.1', paths: ['/index.html'] },
  { specifier: 'simple-datatables@10.3.0', paths: ['/test/cases/rowspan.html'] },
  { specifier: 'codemirror@5.65.16', paths: ['/mode/rpm/changes/index.html'] },
  { specifier: 'owl.carousel@2.3.4', paths: ['/docs/index.html', '/docs/demos/animate.html'] },
  { specifier: 'dygraphs@2.2.1', paths: ['/_site/gallery/index.html', '/_site/tests/steps.html'] },
  { specifier: 'hover.css@2.3.2', paths: ['/index.html'] },
  { specifier: 'jstree@3.3.17', paths: ['/demo/basic/index.html'] },
  { specifier: 'magnific-popup@1.1.0', paths: ['/website/index.html'] },
  { specifier: 'photoswipe@4.1.3', paths: ['/website/index.html'] },
  { specifier: 'clipboard@2.0.11', paths: ['/demo/target-input.html'] },
  { specifier: 'spectre.css@0.5.9', paths: ['/docs/elements/forms.html', '/docs/elements/typography.html'] },
  { specifier: '98.css@0.1.21', paths: ['/dist/index.html'] },
  { specifier: 'xp.css@0.3.0', paths: ['/dist/index.html'] },
  { specifier: 'milligram@1.4.1', paths: ['/example.html'] },
  { specifier: '@picocss/pico@1.5.13', paths: ['/docs/forms.html', '/docs/themes.html'] },
  { specifier: 'admin-lte@2.4.18', paths: ['/index2.html', '/pages/tables/data.html'] },
  {
    specifier: 'gentelella@4.2.0',
    paths: ['/dist/production/order_detail.html', '/dist/production/form_advanced.html'],
  },
  { specifier: 'black-dashboard@1.0.0', paths: ['/examples/dashboard.html', '/examples/rtl.html'] },
  { specifier: 'now-ui-kit@1.3.0', paths: ['/index.html', '/examples/landing-page.html'] },
  { specifier: 'paper-kit-2@2.1.0', paths: ['/index.html', '/examples/landing.html'] },
  { specifier: 'startbootstrap-agency@7.0.12', paths: ['/dist/index.html'] },
  { specifier: 'startbootstrap-freelancer@7.0.7', paths: ['/dist/index.html'] },
  { specifier: 'startbootstrap-grayscale@7.0.6', paths: ['/dist/index.html'] },
  { specifier: 'startbootstrap-new-age@6.0.7', paths: ['/dist/index.html'] },
  { specifier: 'startbootstrap-stylish-portfolio@6.0.6', paths: ['/dist/index.html'] },
  { specifier: 'startbootstrap-modern-business@5.0.7', paths: ['/dist/faq.html'] },
  { specifier: 'startbootstrap-coming-soon@6.0.7', paths: ['/dist/index.html'] },
  { specifier: 'webslides@1.5.0', paths: ['/index.html', '/demos/landings.html', '/demos/longforms.html'] },
  { specifier: 'nvd3@1.8.6', paths: ['/examples/candlestick.html', '/examples/bulletChart.html'] },
  { specifier: 'packery@3.0.0', paths: ['/sandbox/basics.html', '/sandbox/fluid.html'] },
  { specifier: 'flexslider@2.7.2', paths: ['/demo/index.html', '/demo/thumbnail-slider.html'] },
  { specifier: 'snapsvg@0.5.1', paths: ['/demos/animated-map/index.html', '/demos/tutorial/index.html'] },
  { specifier: 'iscroll@5.2.0', paths: ['/demos/simple/index.html', '/demos/minimap/index.html'] },
  { specifier: 'multiscroll.js@0.2.3', paths: ['/examples/example.html', '/examples/scrollable.html'] },
  { specifier: 'scrollmonitor@1.2.11', paths: ['/demos/fixed.html', '/demos/vh-units.html'] },
  { specifier: 'vivus@0.4.6', paths: ['/index.html'] },
  { specifier: 'vegas@3.0.0', paths: ['/tests/index.html'] },
  { specifier: 'shower@2.7.1', paths: ['/index.html'] },
  { specifier: 'dragula@3.7.3', paths: ['/index.html'] },
  { specifier: 'lightbox2@2.12.0', paths: ['/examples/index.html'] },
  { specifier: 'smooth-scroll@16.1.3', paths: ['/index.html'] },
];
