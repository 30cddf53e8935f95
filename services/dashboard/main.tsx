import './shell/sign-in-code.ts';
import { render } from 'preact';
import { App } from './app.tsx';
import './shell/base.css';
import './shell/layout.css';
import './widgets/widgets.css';

const root = document.getElementById('app');
if (root === null) throw new Error('the page has no element #app');
render(<App />, root);
