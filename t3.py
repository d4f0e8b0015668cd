import sys; sys.path.insert(0,'/tmp/ca')
from tasks.evaluations.culturall.retrieval import *
from tasks.evaluations.culturall.retrieval import _words
P=[Passage("a",1,"Im Teehaus trinkt man Tee."),Passage("b",1,"中秋节吃月饼，赏月。"),Passage("c",1,"Coffee at noon"),Passage("d",1,"")]
print(passages_for({"x":"何时吃月饼？","y":"Tee trinken","z":"nothing here"},P,2))
