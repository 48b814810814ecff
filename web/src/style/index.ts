// All style sheets, in order: what a page looks like, its parts, its drawings, paper.
import './base.css';
import './parts.css';
import './labs.css';
import './figures.css';
import './print.css';
